#include "tools/smelt/command_line.h"

#include "tools/smelt/suggestion.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <deque>
#include <iostream>
#include <new>

namespace smelt::tools {

static constexpr const char *kHidden = ""; // the group that CLI11's help leaves out
static constexpr uint64_t kMostCount = 1000000000;

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

static CLI::Validator countNumber(size_t least) {
  auto check = [least](const std::string &text) {
    uint64_t count;
    bool isOne = llvm::to_integer(text, count, 10) && count >= least && count <= kMostCount;
    return isOne ? std::string()
                 : "'" + text + "' is no integer from " + std::to_string(least) + " to " +
                       std::to_string(kMostCount);
  };
  return CLI::Validator(check, "");
}

static CLI::Validator secondsNumber() {
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
static void addShared(CLI::App &command, Limits &limits) {
  command.add_option("--timeout", limits.seconds, "End with code 5 after so many seconds")
      ->check(secondsNumber())
      ->option_text("SECONDS");
  command
      .add_option_function<std::string>(
          "--max-memory", [&limits](const std::string &text) { limits.bytes = parseSize(text); },
          "End with code 5 where more memory would be written: bytes, or with K, M, G or T; "
          "mapped files and a GPU's memory do not count")
      ->check(memorySize())
      ->option_text("SIZE");
  command.add_flag("-v,--verbose", limits.isVerbose,
                   "Say on stderr what is being done, with the seconds since the start");
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

void Command::count(const char *names, size_t &value, size_t least, const char *takes,
                    const char *help) {
  parser.app.add_option(names, value, help)->check(countNumber(least))->option_text(takes);
}

void Command::seconds(const char *names, double &value, const char *help) {
  parser.app.add_option(names, value, help)->check(secondsNumber())->option_text("SECONDS");
}

void Command::parsed(const char *names, std::function<std::string(const std::string &)> take,
                     const char *takes, const char *help) {
  auto check = [take = std::move(take), names](const std::string &text) {
    if (std::string wrong = take(text); !wrong.empty())
      throw CLI::ValidationError(names, wrong);
  };
  parser.app.add_option_function<std::string>(names, check, help)->option_text(takes);
}

void Command::called(const char *names, std::function<std::string(const std::string &)> take,
                     const char *help) {
  auto check = [take = std::move(take), names](int64_t) {
    if (std::string wrong = take(""); !wrong.empty())
      throw CLI::ValidationError(names, wrong);
  };
  parser.app.add_flag_function(names, check, help);
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
  addShared(*command, parsers->limits);
  command->callback([this, run = std::move(run)] {
    parsers->status = setLimits(parsers->limits, parsers->end);
    if (parsers->status.isOk())
      parsers->status = withLimits(run());
  });
  return Command(parsers->commands.emplace_back(Command::Parser{*command}));
}

Command CommandLine::addHidden(const char *name, const char *help, std::function<Status()> run) {
  Command command = add(name, help, std::move(run));
  parsers->app.get_subcommand(name)->group(kHidden);
  return command;
}

static Status usage(const std::string &what) {
  return Status(StatusCode::kUsage, what + "\nsmelt: run with --help for the flags and examples");
}

/// ", did you mean 'compile'?"
static std::string question(const std::string &meant) {
  return meant.empty() ? "" : ", did you mean '" + meant + "'?";
}

OptionTable CommandLine::table() const { return optionTable(parsers->app); }

/// Whether the first word is a command; flags are left to the parser.
Status CommandLine::refuseUnknownCommand(int count, char **arguments) const {
  std::string word = count > 1 ? arguments[1] : "-";
  std::vector<std::string> names;
  for (const TableCommand &command : table().commands)
    names.push_back(command.name);
  for (const CLI::App *command : parsers->app.get_subcommands({}))
    if (command->get_name() == word)
      return {};
  if (word.starts_with('-'))
    return {};
  return Status(StatusCode::kUsage, "'" + word + "' is no command" +
                                        question(nearest(word, names)) + "; the commands are " +
                                        llvm::join(names, ", "));
}

/// The first flag that the command does not know, with what may have been meant; "" where there is none.
std::string CommandLine::describeUnknownFlag(int count, char **arguments) const {
  std::vector<std::string> names;
  for (const CLI::App *command : parsers->app.get_subcommands()) // the one that was given
    for (const CLI::Option *option : command->get_options())
      for (const std::string &name : option->get_lnames())
        names.push_back("--" + name);
  for (const std::string argument : llvm::ArrayRef(arguments, count).drop_front(2)) {
    std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && !llvm::is_contained(names, name))
      return "the command has no flag '" + name + "'" + question(nearest(name, names));
  }
  return "";
}

/// What there is to say where nothing else is asked for, or "help", or "help run"; "" elsewhere.
static std::string helpText(const CLI::App &app, llvm::ArrayRef<char *> arguments) {
  if (arguments.size() < 2)
    return app.help();
  if (arguments.size() > 3 || arguments[1] != std::string_view("help"))
    return "";
  if (arguments.size() == 2)
    return app.help();
  for (const CLI::App *command : app.get_subcommands({}))
    if (command->get_name() == arguments[2])
      return command->help(app.get_name());
  return "";
}

Status CommandLine::parse(int count, char **arguments) {
  std::string help = helpText(parsers->app, llvm::ArrayRef(arguments, count));
  if (!help.empty()) {
    std::cout << help;
    return {};
  }
  SMELT_RETURN_IF_ERROR(refuseUnknownCommand(count, arguments));
  try {
    parsers->app.parse(count, arguments);
  } catch (const CLI::Success &request) { // --help, --version
    parsers->app.exit(request, std::cout, std::cerr);
  } catch (const CLI::ExtrasError &error) {
    std::string unknown = describeUnknownFlag(count, arguments);
    return usage(unknown.empty() ? error.what() : unknown);
  } catch (const CLI::ParseError &error) {
    return usage(error.what());
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  }
  return parsers->status;
}

} // namespace smelt::tools
