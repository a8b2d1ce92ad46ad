/**
 * Four names of the DOM that the types of playwright-core mention. Nothing outside the page of the explorer sees a
 * document, so the library of the DOM stays out, and with it the temptation.
 */
interface Node {
  readonly nodeType: number;
}
interface HTMLElement extends Node {
  readonly tagName: string;
}
interface SVGElement extends Node {
  readonly tagName: string;
}
interface HTMLElementTagNameMap {
  readonly [name: string]: HTMLElement;
}
