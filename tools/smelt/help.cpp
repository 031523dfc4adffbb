// smelt help: what is installed beside the program, written from its own options.
#include "tools/smelt/commands.h"
#include "tools/smelt/option_table.h"
#include "tools/smelt/report.h"

namespace smelt::tools {

static Status help(const OptionTable &table, const std::string &format) {
  static const std::map<std::string, std::string (*)(const OptionTable &)> kFormats = {
      {"man", manualPage},
      {"bash", bashCompletion},
      {"zsh", zshCompletion},
      {"fish", fishCompletion}};
  auto found = kFormats.find(format);
  if (found == kFormats.end())
    return Status(StatusCode::kUsage,
                  "'" + format + "' is none of man, bash, zsh, fish, and no command");
  llvm::outs() << found->second(table);
  return {};
}

void addHelp(CommandLine &line) {
  auto format = std::make_shared<std::string>();
  Command command = line.add("help", "Print the manual page, or what completes commands in a shell",
                             [&line, format] { return help(line.table(), *format); });
  command.argument("format", *format, "man, bash, zsh or fish", "man|bash|zsh|fish");
  command.footer(
      "Alone it lists the commands; behind it, a command's name lists its flags.\n"
      "examples:\n  smelt help man | man -l -\n  source <(smelt help bash)\n  smelt help run");
}

} // namespace smelt::tools
