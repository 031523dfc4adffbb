// How commands talk: results to stdout as a table or as one JSON object, everything else to stderr.
#pragma once

#include "compiler/diagnostics.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace smelt::tools {

using namespace compiler;

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

/// The object that tells of a failure, schema smelt.error/1, as text.
std::string errorJson(const Status &status);

/// A line on stdout.
void print(const std::string &line);

/// A line on stderr, as "smelt: text".
void note(const std::string &text);

/// ProgressLine of long work on stderr: on a terminal one line that is rewritten, elsewhere a line at
/// most every ten seconds. Nothing is shown for work of less than half a second.
class ProgressLine {
public:
  ProgressLine();
  ProgressLine(const ProgressLine &) = delete;
  ProgressLine &operator=(const ProgressLine &) = delete;
  ~ProgressLine() { clear(); }

  /// Makes room for something else.
  void clear();

  void show(const std::string &text);
  /// "measuring single runs: 40 %, about 2 s left"; of a share up to 1.
  void showShare(const std::string &text, double share);
  /// "writing weights: 1.2 GiB of 4.0 GiB, about 3 s left".
  void showBytes(const std::string &text, uint64_t done, uint64_t total);
  /// "compiling kernels: 3 of 17, about 12 s left". Work that begins anew, with fewer steps done, is estimated anew.
  void show(const std::string &text, size_t done, size_t total);

private:
  /// "TEXT: DONE, about 12 s left".
  void showDone(const std::string &text, const std::string &done, std::optional<double> left);
  /// The seconds that the steps left will take, as those before them did; nothing before two of them are done.
  std::optional<double> secondsLeft(size_t done, size_t total);

  bool isTerminal;
  bool isShown = false;
  double startSeconds;
  double lastSeconds;
  // Where the steps that the estimate goes by began.
  double firstSeconds = 0;
  size_t firstDone = 0;
  size_t lastDone = 0;
};

/// "12.3 MiB"; powers of 1024.
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
