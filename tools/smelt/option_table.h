// Commands and options as the parser has them, for what is written from them: the manual page and the completions of
// shells.
#pragma once

#include <string>
#include <vector>

namespace CLI { // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace smelt::tools {

struct TableOption {
  std::vector<std::string> names; ///< "-o", "--output"; of a positional argument, its name
  std::string takes;              ///< stands for the value; empty where there is none
  std::string help;
  std::vector<std::string> choices; ///< words that are values, where these are few and known
};

struct TableCommand {
  std::string name, help, footer;
  std::vector<TableOption> arguments; ///< positional
  std::vector<TableOption> options;
};

struct OptionTable {
  std::string description, footer, version;
  std::vector<TableOption> options; ///< without a command
  std::vector<TableCommand> commands;
};

OptionTable optionTable(const CLI::App &app);

std::string manualPage(const OptionTable &table);
/// Each defines the completion of `smelt` when the shell reads it.
std::string bashCompletion(const OptionTable &table);
std::string zshCompletion(const OptionTable &table);
std::string fishCompletion(const OptionTable &table);

} // namespace smelt::tools
