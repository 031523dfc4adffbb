#include "tools/smelt/command_line.h"

#include "llvm/ADT/StringExtras.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <deque>
#include <iostream>
#include <new>

namespace smelt::tools {

struct Command::Parser {
  CLI::App &app;
};

struct CommandLine::Parsers {
  CLI::App app;
  Ending end;
  Limits limits;
  std::deque<Command::Parser> commands; // where they are, they stay
  Status status;                        // of the command that ran
};

/// Takes the named values; refuses others in words.
static CLI::Validator oneOf(const std::map<std::string, int> &values) {
  auto replace = [values](std::string &text) {
    if (auto known = values.find(text); known != values.end())
      return text = std::to_string(known->second), std::string();
    std::string names;
    for (const auto &[name, value] : values)
      names += (names.empty() ? "" : ", ") + name;
    return "'" + text + "' is none of " + names;
  };
  return CLI::Validator(replace, "");
}

static CLI::Validator seedNumber() {
  auto check = [](const std::string &text) {
    uint64_t seed;
    return llvm::to_integer(text, seed, 10) ? std::string()
                                            : "'" + text + "' is no integer from 0 to 2^64 - 1";
  };
  return CLI::Validator(check, "");
}

static CLI::Validator toleranceNumber() {
  auto check = [](const std::string &text) {
    double tolerance;
    bool isOne = llvm::to_float(text, tolerance) && std::isfinite(tolerance) && tolerance >= 0;
    return isOne ? std::string() : "'" + text + "' is no number of at least 0";
  };
  return CLI::Validator(check, "");
}

static CLI::Validator seconds() {
  auto check = [](const std::string &text) {
    double number;
    bool isOne = llvm::to_float(text, number) && std::isfinite(number) && number > 0;
    return isOne ? std::string() : "'" + text + "' is no number of seconds above 0";
  };
  return CLI::Validator(check, "");
}

static CLI::Validator memorySize() {
  auto check = [](const std::string &text) {
    return parseSize(text) ? std::string()
                           : "'" + text + "' is no size above 0; write bytes, or 512M or 4G";
  };
  return CLI::Validator(check, "");
}

/// The flags that every command takes.
static void addLimits(CLI::App &command, Limits &limits) {
  command.add_option("--timeout", limits.seconds, "End with code 5 after so many seconds")
      ->check(seconds())
      ->option_text("SECONDS");
  command
      .add_option_function<std::string>(
          "--max-memory", [&limits](const std::string &text) { limits.bytes = parseSize(text); },
          "End with code 5 where more memory would be written: bytes, or with K, M, G or T; "
          "mapped files and a GPU's memory do not count")
      ->check(memorySize())
      ->option_text("SIZE");
}

void Command::argument(const char *name, std::string &value, const char *help, const char *takes) {
  parser.app.add_option(name, value, help)->required()->option_text(takes);
}

void Command::flag(const char *names, bool &value, const char *help) {
  parser.app.add_flag(names, value, help);
}

void Command::text(const char *names, std::string &value, const char *help) {
  parser.app.add_option(names, value, help);
}

void Command::texts(const char *names, std::vector<std::string> &values, const char *takes,
                    const char *help) {
  parser.app.add_option(names, values, help)->option_text(takes)->allow_extra_args(false);
}

void Command::list(const char *names, std::vector<std::string> &values, const char *takes,
                   const std::string &help) {
  parser.app.add_option(names, values, help)->delimiter(',')->option_text(takes);
}

void Command::seed(const char *names, std::function<void(uint64_t)> set, const char *help) {
  parser.app.add_option_function<uint64_t>(names, std::move(set), help)->check(seedNumber());
}

void Command::tolerance(const char *names, std::optional<double> &value, const char *help) {
  parser.app.add_option(names, value, help)->check(toleranceNumber());
}

void Command::footer(const char *text) { parser.app.footer(text); }

void Command::number(const char *names, const std::map<std::string, int> &values,
                     std::function<void(int)> set, const char *takes, const char *help) {
  parser.app.add_option_function<int>(names, std::move(set), help)
      ->transform(oneOf(values))
      ->option_text(takes);
}

CommandLine::CommandLine(const char *description, const char *footer, const char *version,
                         Ending end)
    : parsers(new Parsers{CLI::App(description, "smelt"), std::move(end), {}, {}, {}}) {
  parsers->app.footer(footer);
  parsers->app.set_version_flag("--version", version);
  parsers->app.require_subcommand(1);
}

CommandLine::~CommandLine() = default;

Command CommandLine::add(const char *name, const char *help, std::function<Status()> run) {
  CLI::App *command = parsers->app.add_subcommand(name, help);
  addLimits(*command, parsers->limits);
  command->callback([this, run = std::move(run)] {
    parsers->status = setLimits(parsers->limits, parsers->end);
    if (parsers->status.isOk())
      parsers->status = withLimits(run());
  });
  return Command(parsers->commands.emplace_back(Command::Parser{*command}));
}

OptionTable CommandLine::table() const { return optionTable(parsers->app); }

/// Whether the first word is a command; flags are left to the parser.
Status CommandLine::refuseUnknownCommand(int count, char **arguments) const {
  std::string word = count > 1 ? arguments[1] : "-";
  std::string names;
  for (const CLI::App *command : parsers->app.get_subcommands({})) {
    if (word == command->get_name())
      return {};
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  if (word.starts_with('-'))
    return {};
  return Status(StatusCode::kUsage, "'" + word + "' is no command; the commands are " + names);
}

Status CommandLine::parse(int count, char **arguments) {
  SMELT_RETURN_IF_ERROR(refuseUnknownCommand(count, arguments));
  try {
    parsers->app.parse(count, arguments);
  } catch (const CLI::Success &request) { // --help, --version
    parsers->app.exit(request, std::cout, std::cerr);
  } catch (const CLI::ParseError &error) {
    return Status(StatusCode::kUsage, std::string(error.what()) +
                                          "\nsmelt: run with --help for the flags and examples");
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  }
  return parsers->status;
}

} // namespace smelt::tools
