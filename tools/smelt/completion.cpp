// Completions: a command first, then options; values of options that have few, else files.
#include "tools/smelt/option_table.h"

#include <algorithm>

namespace smelt::tools {

static std::string joined(const std::vector<std::string> &words, const char *separator) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : separator) + word;
  return text;
}

static std::string optionNames(const std::vector<TableOption> &options) {
  std::vector<std::string> names;
  for (const TableOption &option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return joined(names, " ");
}

static std::string commandNames(const OptionTable &table) {
  std::string names;
  for (const TableCommand &command : table.commands)
    names += (names.empty() ? "" : " ") + command.name;
  return names;
}

/// What the positional argument of a command may be; empty for files.
static std::string argumentChoices(const TableCommand &command) {
  return command.arguments.empty() ? "" : joined(command.arguments[0].choices, " ");
}

std::string bashCompletion(const OptionTable &table) {
  std::string text = "_smelt() {\n"
                     "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
                     "  local options values= takes=\n"
                     "  COMPREPLY=()\n"
                     "  if [ \"$COMP_CWORD\" = 1 ]; then\n"
                     "    COMPREPLY=($(compgen -W '" +
                     commandNames(table) + " " + optionNames(table.options) +
                     "' -- \"$word\"))\n"
                     "    return\n"
                     "  fi\n"
                     "  case ${COMP_WORDS[1]} in\n";
  for (const TableCommand &command : table.commands) {
    text += "  " + command.name + ")\n    options='" + optionNames(command.options) + "' values='" +
            argumentChoices(command) + "'\n    case $previous in\n";
    for (const TableOption &option : command.options)
      if (!option.takes.empty())
        text += "    " + joined(option.names, "|") + ") takes=1 values='" +
                joined(option.choices, " ") + "' ;;\n";
    text += "    esac ;;\n";
  }
  return text + "  *) return ;;\n"
                "  esac\n"
                "  if [ -z \"$takes\" ] && [[ $word == -* ]]; then\n"
                "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                "  elif [ -n \"$values\" ]; then\n"
                "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
                "  else\n"
                "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
                "    compopt -o filenames 2>/dev/null\n"
                "  fi\n"
                "}\n"
                "complete -F _smelt smelt\n";
}

/// Text in single quotes of a shell.
static std::string quoted(const std::string &text) {
  std::string inside;
  for (char c : text)
    inside += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + inside + "'";
}

/// An option as zsh's _arguments takes it: each name with its help and what follows it.
static std::string zshOption(const TableOption &option) {
  std::string help, text;
  for (char c : option.help)
    help += (c == '[' || c == ']' || c == ':' || c == '\\' ? "\\" : "") + std::string(1, c);
  std::string rest = "[" + help + "]";
  if (!option.takes.empty())
    rest +=
        ":value:" + (option.choices.empty() ? "_files" : "(" + joined(option.choices, " ") + ")");
  for (const std::string &name : option.names)
    text += " \\\n      " + quoted(std::string("*").append(name).append(rest));
  return text;
}

std::string zshCompletion(const OptionTable &table) {
  std::string text = "#compdef smelt\n"
                     "_smelt() {\n"
                     "  if (( CURRENT == 2 )); then\n"
                     "    compadd -- " +
                     commandNames(table) + " " + optionNames(table.options) +
                     "\n"
                     "    return\n"
                     "  fi\n"
                     "  local command=$words[2]\n"
                     "  shift words; (( CURRENT-- ))\n"
                     "  case $command in\n";
  for (const TableCommand &command : table.commands) {
    std::string choices = argumentChoices(command);
    text += "  " + command.name + ")\n    _arguments";
    for (const TableOption &option : command.options)
      text += zshOption(option);
    text += " \\\n      " +
            quoted("1:value:" + (choices.empty() ? "_files" : "(" + choices + ")")) + " ;;\n";
  }
  return text + "  esac\n}\n"
                "if [ \"$funcstack[1]\" = _smelt ]; then # found in a folder of $fpath, and asked\n"
                "  _smelt \"$@\"\n"
                "else\n"
                "  compdef _smelt smelt\n"
                "fi\n";
}

/// Names, help and values of an option behind "complete -c smelt -n ...".
static std::string fishOption(const TableOption &option) {
  std::string text;
  for (const std::string &name : option.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.choices.empty())
    text += " -x -a " + quoted(joined(option.choices, " "));
  else if (!option.takes.empty())
    text += " -r -F";
  return text + " -d " + quoted(option.help) + "\n";
}

std::string fishCompletion(const OptionTable &table) {
  const std::string complete = "complete -c smelt -n ";
  std::string text;
  for (const TableOption &option : table.options)
    text += complete + "__fish_use_subcommand" + fishOption(option);
  for (const TableCommand &command : table.commands) {
    std::string seen = complete + quoted("__fish_seen_subcommand_from " + command.name);
    text += complete + "__fish_use_subcommand -f -a " + command.name + " -d " +
            quoted(command.help) + "\n";
    if (std::string choices = argumentChoices(command); !choices.empty())
      text += seen + " -f -a " + quoted(choices) + "\n";
    for (const TableOption &option : command.options)
      text += seen + fishOption(option);
  }
  return text;
}

} // namespace smelt::tools
