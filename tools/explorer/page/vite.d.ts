/** What vite makes of imports that are no TypeScript. */
declare module '*?worker&inline' {
  const Inline: new () => Worker;
  export default Inline;
}
declare module '*.css';
