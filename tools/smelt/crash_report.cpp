#include "tools/smelt/crash_report.h"

#include "codegen/unfinished_files.h"
#include "tools/smelt/report.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace smelt::tools {

static std::string messageOf(const std::string &version, int argc, char **argv) {
  std::string message = "crashed; this is a defect of Smelt " + version +
                        ". Please report it with the model and this command:\n  ";
  for (int i = 0; i < argc; ++i)
    message += std::string(i ? " " : "") + argv[i];
  return message;
}

CrashReport::CrashReport(const std::string &version, int argc, char **argv, bool asksForJson)
    : CrashReport(messageOf(version, argc, argv), asksForJson) {}

CrashReport::CrashReport(std::string text, bool asksForJson)
    : message(std::move(text)), asksForJson(asksForJson),
      forPeople("smelt: error: " + printable(message) + "\n"),
      json(errorJson(Status(StatusCode::kInternal, message))) {}

CrashReport CrashReport::with(const std::string &line) const {
  return CrashReport(message + "\n" + line, asksForJson);
}

static void writeWhole(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return; // nobody can read it
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
}

void CrashReport::end() const {
  codegen::removeUnfinishedFilesForGood();
  writeWhole(STDERR_FILENO, forPeople);
  if (asksForJson && llvm::outs().tell() == 0) // else another object is there already
    writeWhole(STDOUT_FILENO, json);
  std::_Exit(static_cast<int>(StatusCode::kInternal));
}

} // namespace smelt::tools
