#include "codegen/shallow_json.h"

namespace smelt::codegen {

static constexpr size_t kDeepest = 64;

/// Closers that close nothing do not count: they stop the parser.
static bool isShallow(llvm::StringRef text) {
  size_t depth = 0;
  bool isInString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char character = text[at];
    if (isInString && character == '\\')
      ++at;
    else if (character == '"')
      isInString = !isInString;
    else if (!isInString && (character == '[' || character == '{') && ++depth > kDeepest)
      return false;
    else if (!isInString && (character == ']' || character == '}') && depth > 0)
      --depth;
  }
  return true;
}

llvm::Expected<llvm::json::Value> parseShallowJson(llvm::StringRef text) {
  if (isShallow(text))
    return llvm::json::parse(text);
  return llvm::createStringError("brackets nest more than " + std::to_string(kDeepest) + " deep");
}

} // namespace smelt::codegen
