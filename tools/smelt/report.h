// How commands talk: results to stdout as a table or as one JSON object, everything else to stderr.
#pragma once

#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace smelt::tools {

/// Rows of text under a header, columns aligned; columns of numbers to the right.
class Table {
public:
  explicit Table(std::vector<std::string> header);

  /// As many cells as the header has.
  void add(std::vector<std::string> cells);
  /// To stdout.
  void print() const;

private:
  std::vector<std::vector<std::string>> rows;
};

/// One object, indented, to stdout.
void printJson(llvm::json::Object object);

/// Text that may hold a model's names, for a terminal: control characters are escaped, as "\x1b".
std::string printable(llvm::StringRef text);
/// The same, with line ends escaped too.
std::string oneLine(llvm::StringRef text);

/// A line on stdout.
void print(const std::string &line);

/// A line on stderr, as "smelt: text".
void note(const std::string &text);

/// Progress of long work on stderr: on a terminal one line that is rewritten, elsewhere a line at
/// most every ten seconds. Nothing is shown for work of less than half a second.
class Progress {
public:
  Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
  /// Clears the line.
  ~Progress();

  void show(const std::string &text);

private:
  bool isTerminal;
  bool isShown = false;
  double startSeconds;
  double lastSeconds;
};

/// "12.3 MB"; powers of 1000.
std::string bytesText(double bytes);
/// Fixed-point with `digits` decimals.
std::string numberText(double value, int digits);
/// Four significant digits: "0.1234", "1.234e+09".
std::string shortText(double value);
/// A number; null where it is NaN or infinite, which JSON cannot say.
llvm::json::Value jsonNumber(double value);
/// "3.2e-06"
std::string scientificText(double value);

} // namespace smelt::tools
