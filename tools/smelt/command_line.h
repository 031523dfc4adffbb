// The command line as the commands describe it. The only way to CLI11: a file that includes its headers takes ten seconds
// longer to compile.
#pragma once

#include "runtime/status.h"
#include "tools/smelt/limits.h"
#include "tools/smelt/option_table.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace smelt::tools {

/// What one subcommand takes, while it is described. `names` are as a person types them, "-o,--output"; `takes` stands for
/// the value in the help. What is described is written when the command line is parsed, and must live as long.
class Command {
public:
  struct Parser; // CLI11's

  explicit Command(Parser &parser) : parser(parser) {}

  /// A positional argument, in their order; it must be given.
  void argument(const char *name, std::string &value, const char *help, const char *takes = "");
  void flag(const char *names, bool &value, const char *help);
  void text(const char *names, std::string &value, const char *help);
  /// Each use of the flag adds a value.
  void texts(const char *names, std::vector<std::string> &values, const char *takes,
             const char *help);
  /// Values with commas between them.
  void list(const char *names, std::vector<std::string> &values, const char *takes,
            const std::string &help);
  /// From 0 to 2^64 - 1: none is rounded or wrapped.
  void seed(const char *names, std::function<void(uint64_t)> set, const char *help);
  /// An integer from `least` on.
  void count(const char *names, size_t &value, size_t least, const char *takes, const char *help);
  /// A finite number above 0.
  void seconds(const char *names, double &value, const char *help);
  /// A finite number of at least 0.
  void tolerance(const char *names, std::optional<double> &value, const char *help);
  /// A value that `take` makes something of; it returns what is wrong with the text, or "".
  void parsed(const char *names, std::function<std::string(const std::string &)> take,
              const char *takes, const char *help);
  /// The same for a flag without a value, which gets "".
  void called(const char *names, std::function<std::string(const std::string &)> take,
              const char *help);
  /// One of the values by its name; anything else is refused in words.
  template <typename Enum>
  void choice(const char *names, Enum &value, const std::map<std::string, Enum> &choices,
              const char *takes, const char *help) {
    std::map<std::string, int> numbers;
    for (auto [name, choice] : choices)
      numbers[name] = static_cast<int>(choice);
    number(
        names, numbers, [&value](int chosen) { value = static_cast<Enum>(chosen); }, takes, help);
  }
  /// Printed below the flags' help: examples.
  void footer(const char *text);

private:
  void number(const char *names, const std::map<std::string, int> &values,
              std::function<void(int)> set, const char *takes, const char *help);

  Parser &parser;
};

/// All subcommands.
class CommandLine {
public:
  /// `end` is for limits that are reached.
  CommandLine(const char *description, const char *footer, const char *version, Ending end);
  ~CommandLine();

  /// Adds a subcommand that does `run` within the limits that it takes, for the caller to describe.
  Command add(const char *name, const char *help, std::function<Status()> run);

  /// The same for one that is no command for people, which no help tells of.
  Command addHidden(const char *name, const char *help, std::function<Status()> run);

  /// All that was added and is not hidden, for manuals.
  OptionTable table() const;

  /// Runs the command that the arguments name, or prints the help or the version to std::cout; the help too where there are
  /// no arguments. kUsage where the arguments are wrong, with the name that may have been meant, kResources where memory ran
  /// out, else what the command returned.
  Status parse(int count, char **arguments);

private:
  Status refuseUnknownCommand(int count, char **arguments) const;
  std::string describeUnknownFlag(int count, char **arguments) const;

  struct Parsers;
  std::unique_ptr<Parsers> parsers;
};

} // namespace smelt::tools
