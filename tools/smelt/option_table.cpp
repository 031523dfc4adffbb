#include "tools/smelt/option_table.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

namespace smelt::tools {

/// The words of "auto|cpu|cuda|N", where capitals stand for anything; none where what an option takes is no list of words.
static std::vector<std::string> choicesOf(const std::string &takes) {
  auto isPart = [](unsigned char c) { return std::isalnum(c) || c == '|' || c == '-' || c == '_'; };
  std::vector<std::string> choices;
  if (takes.find('|') == std::string::npos || !std::all_of(takes.begin(), takes.end(), isPart))
    return choices;
  std::istringstream words(takes);
  for (std::string word; std::getline(words, word, '|');)
    if (std::none_of(word.begin(), word.end(), [](unsigned char c) { return std::isupper(c); }))
      choices.push_back(word);
  return choices;
}

static TableOption describe(const CLI::Option &option) {
  TableOption described;
  for (const std::string &name : option.get_snames())
    described.names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    described.names.push_back("--" + name);
  if (option.get_positional())
    described.names = {option.get_name()};
  described.help = option.get_description();
  if (option.get_items_expected_max() > 0)
    described.takes =
        option.get_option_text().empty() ? option.get_type_name() : option.get_option_text();
  described.choices = choicesOf(described.takes);
  return described;
}

OptionTable optionTable(const CLI::App &app) {
  OptionTable table{app.get_description(), app.get_footer(), app.version(), {}, {}};
  for (const CLI::Option *option : app.get_options())
    table.options.push_back(describe(*option));
  for (const CLI::App *command : app.get_subcommands({})) {
    if (command->get_group().empty())
      continue;
    TableCommand described{
        command->get_name(), command->get_description(), command->get_footer(), {}, {}};
    for (const CLI::Option *option : command->get_options())
      (option->get_positional() ? described.arguments : described.options)
          .push_back(describe(*option));
    table.commands.push_back(std::move(described));
  }
  return table;
}

} // namespace smelt::tools
