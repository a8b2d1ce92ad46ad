/** Completion of `roce` as scripts for shells. Every word in them is our own: none is quoted by a shell's rules. */
import type { CompletedCommand, CompletedOption } from './words.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** @param commands the program itself first */
export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  return { bash: bashScript, zsh: zshScript, fish: fishScript }[shell](commands);
}

/** Walks along the words to find the command, then offers what it takes; files where nothing fits. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '');
  return `# Completion of roce for bash: source this, or put it into bash-completion's folder.
_roce() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path= words= at
  for ((at = 1; at < COMP_CWORD; at++)); do
    # What follows belongs to another program.
    [ "\${COMP_WORDS[at]}" = -- ] && return
    case "$path\${path:+ }\${COMP_WORDS[at]}" in
      ${paths.map((path) => `'${path}'`).join('|')}) path="$path\${path:+ }\${COMP_WORDS[at]}" ;;
    esac
  done
  case "$path $previous" in
${commands.flatMap(bashValues).join('\n')}
    *)
      case "$path" in
${commands.map(({ path, ...words }) => `        '${path}') words='${wordsOf(words).join(' ')}' ;;`).join('\n')}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _roce roce
`;
}

/** What follows an option that takes a value: one of its words, or the name of a file. */
function bashValues({ path, options }: CompletedCommand): string[] {
  return options
    .filter(({ takesValue }) => takesValue)
    .map(({ names, choices }) => {
      const patterns = names.map((name) => `'${path} ${name}'`).join('|');
      return `    ${patterns}) ${choices.length === 0 ? 'return' : `words='${choices.join(' ')}'`} ;;`;
    });
}

/** zsh runs functions made for bash. */
function zshScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of roce for zsh: source this.
autoload -U +X compinit && compinit
autoload -U +X bashcompinit && bashcompinit
${bashScript(commands).split('\n').slice(1).join('\n')}`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of roce for fish: put this into ~/.config/fish/completions/roce.fish.
function __roce_at
    set -l words (commandline -opc)
    set -l path
    for word in $words[2..]
        contains -- $word -- --; and return 1
        switch "$path $word"
            case ${commands.map(({ path }) => `' ${path}'`).join(' ')}
                set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end
${commands.flatMap(fishLines).join('\n')}
`;
}

function fishLines({ path, commands, options }: CompletedCommand): string[] {
  const condition = `complete -c roce -n "__roce_at '${path === '' ? '' : ` ${path}`}'"`;
  return [
    ...commands.map(({ name, description }) => `${condition} -f -a ${name} -d ${fishQuoted(description)}`),
    ...options.map(({ names, description, takesValue, choices }) => {
      const flags = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
      const value = choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : takesValue ? ' -r' : '';
      return `${condition} ${flags.join(' ')}${value} -d ${fishQuoted(description)}`;
    }),
  ];
}

function fishQuoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`;
}

function wordsOf({ commands, options }: Omit<CompletedCommand, 'path'>): string[] {
  return [...commands.map(({ name }) => name), ...unique(options)];
}

function unique(options: readonly CompletedOption[]): string[] {
  return [...new Set(options.flatMap(({ names }) => names))];
}
