#include "tools/smelt/report.h"

#include "runtime/text.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace smelt::tools {

static constexpr double kQuietSeconds = 0.5;
static constexpr double kRewriteSeconds = 0.1;
static constexpr double kLineSeconds = 10;
static constexpr llvm::StringRef kClearLine = "\r\x1b[K";

Table::Table(std::vector<std::string> header) { rows.push_back(std::move(header)); }

void Table::add(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = oneLine(cell);
  rows.push_back(std::move(cells));
}

static bool isNumber(llvm::StringRef text) {
  return text.empty() || text == "-" || llvm::isDigit(text.front()) ||
         (text.size() > 1 && text.front() == '-' && llvm::isDigit(text[1]));
}

void Table::print() const {
  std::vector<size_t> widths(rows[0].size());
  std::vector<bool> right(rows[0].size(), rows.size() > 1);
  for (size_t row = 0; row < rows.size(); ++row)
    for (size_t column = 0; column < widths.size(); ++column) {
      widths[column] = std::max(widths[column], rows[row][column].size());
      if (row > 0)
        right[column] = right[column] && isNumber(rows[row][column]);
    }
  for (const std::vector<std::string> &row : rows) {
    std::string line;
    for (size_t column = 0; column < widths.size(); ++column) {
      std::string padding(widths[column] - row[column].size(), ' ');
      line += column ? "  " : "";
      line += right[column] ? padding + row[column] : row[column] + padding;
    }
    llvm::outs() << llvm::StringRef(line).rtrim() << '\n';
  }
}

void printJson(llvm::json::Object object) {
  llvm::outs() << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
}

std::string errorJson(const Status &status) {
  llvm::json::Object error{{"schema", "smelt.error/1"},
                           {"code", static_cast<int64_t>(status.code())},
                           {"message", status.message()}};
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(error)));
}

void print(const std::string &line) { llvm::outs() << printable(line) << '\n'; }

void note(const std::string &text) {
  llvm::errs() << "smelt: " + printable(text) + "\n"; // in one piece: threads may speak at once
}

static double secondsNow() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressLine::ProgressLine()
    : isTerminal(isatty(STDERR_FILENO)), startSeconds(secondsNow()), lastSeconds(startSeconds) {}

void ProgressLine::clear() {
  if (isShown && isTerminal)
    llvm::errs() << kClearLine;
  isShown = false;
}

void ProgressLine::show(const std::string &text) {
  double now = secondsNow();
  double pause = isTerminal ? (isShown ? kRewriteSeconds : kQuietSeconds) : kLineSeconds;
  if (now - lastSeconds < pause)
    return;
  lastSeconds = now;
  isShown = true;
  if (isTerminal)
    llvm::errs() << kClearLine << "smelt: " << text;
  else
    note(text + " (" + numberText(now - startSeconds, 0) + " s)");
}

void ProgressLine::show(const std::string &text, size_t done, size_t total) {
  showDone(text, joinText(done, " of ", total), secondsLeft(done, total));
}

void ProgressLine::showBytes(const std::string &text, uint64_t done, uint64_t total) {
  showDone(
      text,
      joinText(bytesText(static_cast<double>(done)), " of ", bytesText(static_cast<double>(total))),
      secondsLeft(done, total));
}

void ProgressLine::showShare(const std::string &text, double share) {
  constexpr double kSteps = 1e6;
  showDone(text, numberText(100 * share, 0) + " %",
           secondsLeft(static_cast<size_t>(kSteps * share), static_cast<size_t>(kSteps)));
}

void ProgressLine::showDone(const std::string &text, const std::string &done,
                            std::optional<double> left) {
  std::string estimate = left ? ", about " + numberText(*left, 0) + " s left" : "";
  show(joinText(text, ": ", done, estimate));
}

std::optional<double> ProgressLine::secondsLeft(size_t done, size_t total) {
  double now = secondsNow();
  if (firstDone == 0 || done < lastDone) {
    firstSeconds = now;
    firstDone = done;
  }
  lastDone = done;
  if (done <= firstDone)
    return std::nullopt;
  return (now - firstSeconds) / static_cast<double>(done - firstDone) *
         static_cast<double>(total - done);
}

std::string bytesText(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1024;
  return numberText(bytes, unit == 0 ? 0 : 1) + " " + kUnits[unit];
}

static std::string formatted(const char *format, int digits, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, digits, value);
  return buffer;
}

std::string numberText(double value, int digits) { return formatted("%.*f", digits, value); }

std::string shortText(double value) { return formatted("%.*g", 4, value); }

llvm::json::Value jsonNumber(double value) {
  return std::isfinite(value) ? llvm::json::Value(value) : llvm::json::Value(nullptr);
}

std::string scientificText(double value) { return formatted("%.*e", 1, value); }

} // namespace smelt::tools
