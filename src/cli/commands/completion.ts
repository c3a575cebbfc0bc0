import { Argument, type Command } from 'commander';
import { print } from '../terminal/output.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** `wholeProgram`: with every command loaded, which a program that runs one of them is not. */
export function addCompletionCommand(program: Command, wholeProgram: () => Promise<Command>): void {
  program
    .command('completion')
    .description('Print a script that completes commands and flags in your shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      '\nbash: source <(sluice completion bash)\nzsh:  source <(sluice completion zsh)\n' +
        'fish: sluice completion fish | source\nPut the line into your shell’s start-up file.',
    )
    .action(async (shell: Shell) => print(scripts[shell](listWords(await wholeProgram()))));
}

interface Words {
  /** The commands up to here: `` or `jobs list`. */
  path: string;
  words: { word: string; meaning: string }[];
}

/** What may follow each command: its own commands and flags. */
function listWords(command: Command, path: readonly string[] = []): Words[] {
  const commands = command.commands.map((each) => ({ word: each.name(), meaning: each.description() }));
  const flags = command.options.flatMap(({ long, description, hidden }) =>
    long && !hidden ? [{ word: long, meaning: description }] : [],
  );
  const own = {
    path: path.join(' '),
    words: [...commands, ...flags, { word: '--help', meaning: 'print help' }],
  };
  return [own, ...command.commands.flatMap((each) => listWords(each, [...path, each.name()]))];
}

/** Finds out which command the line is about: its words, as long as they name one. zsh has a `path` of its own. */
const pathLines = (first: number) => `
  local at="" word
  for word in "\${words[@]:${first}}"; do
    case " $paths " in *" \${at:+$at/}$word "*) at="\${at:+$at/}$word" ;; esac
  done`;

function bash(all: readonly Words[]): string {
  const cases = all.map(({ path, words }) => {
    return `    "${slashed(path)}") words="${words.map(({ word }) => word).join(' ')}" ;;`;
  });
  return `# Completion of sluice for bash.
_sluice() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" paths="${pathsOf(all)}"
  local words=("\${COMP_WORDS[@]:0:COMP_CWORD}")${pathLines(1)}
  case "$at" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _sluice sluice`;
}

function zsh(all: readonly Words[]): string {
  const cases = all.map(({ path, words }) => {
    const described = words.map(
      ({ word, meaning }) => `      ${quoted(`${word}:${firstSentence(meaning)}`)}`,
    );
    return `    "${slashed(path)}") found=(\n${described.join('\n')}\n    ) ;;`;
  });
  return `#compdef sluice
# Completion of sluice for zsh.
_sluice() {
  local at="" word paths="${pathsOf(all)}"
  local -a found
  for word in "\${words[@]:1:$((CURRENT - 2))}"; do
    case " $paths " in *" \${at:+$at/}$word "*) at="\${at:+$at/}$word" ;; esac
  done
  case "$at" in
${cases.join('\n')}
  esac
  _describe sluice found || _files
}
compdef _sluice sluice`;
}

function fish(all: readonly Words[]): string {
  const lines = all.flatMap(({ path, words }) =>
    words.map(({ word, meaning }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      const here = `"test (__sluice_path) = '${slashed(path)}'"`;
      return `complete -c sluice -n ${here} ${what} -d ${quoted(firstSentence(meaning))}`;
    }),
  );
  return `# Completion of sluice for fish.
function __sluice_path
  set -l paths ${all.map(({ path }) => quoted(slashed(path))).join(' ')}
  set -l path ''
  for word in (commandline -opc)[2..]
    set -l next (test -n "$path"; and echo "$path/$word"; or echo $word)
    contains -- $next $paths; and set path $next
  end
  test -n "$path"; and echo $path; or echo ''
end
${lines.join('\n')}`;
}

const scripts: Record<Shell, (all: readonly Words[]) => string> = { bash, zsh, fish };

const slashed = (path: string) => path.replaceAll(' ', '/');

function pathsOf(all: readonly Words[]): string {
  return all.map(({ path }) => slashed(path)).join(' ');
}

function firstSentence(meaning: string): string {
  return (meaning.split(/[.:;] |\n/)[0] ?? '').replaceAll(/[`'"\\$]/g, '').slice(0, 80);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
