#include "ir/parse_text.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;

namespace smelt {

namespace {

/// Where the name ends that begins at `at`. Names behind a sigil may have a '-'.
size_t nameEnd(StringRef text, size_t at, bool hasSigil) {
  auto isPart = [hasSigil](char character) {
    return llvm::isAlnum(character) || character == '_' || character == '$' || character == '.' ||
           (hasSigil && character == '-');
  };
  while (at < text.size() && isPart(text[at]))
    ++at;
  return at;
}

/// Where the string ends whose first quote is before `at`.
size_t stringEnd(StringRef text, size_t at) {
  while (at < text.size() && text[at] != '"' && text[at] != '\n')
    at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

/// Where the token or comment at `at` ends, as MLIR's lexer has it; tokens that nothing here asks for are a character each.
size_t tokenEnd(StringRef text, size_t at) {
  StringRef rest = text.substr(at);
  char first = rest.front();
  if (first == '"')
    return stringEnd(text, at + 1);
  if (rest.starts_with("//"))
    return std::min(text.find('\n', at), text.size());
  if (rest.starts_with("->"))
    return at + 2;
  if (first == '#' || first == '!' || first == '%' || first == '^')
    return nameEnd(text, at + 1, /*hasSigil=*/true);
  return std::max(nameEnd(text, at, /*hasSigil=*/false), at + 1);
}

bool isBlank(StringRef token) { return llvm::isSpace(token.front()) || token.starts_with("//"); }

/// Whether what follows `at` gives the name before it a value.
bool isDefined(StringRef text, size_t at) {
  while (at < text.size()) {
    size_t end = tokenEnd(text, at);
    if (!isBlank(text.slice(at, end)))
      return text[at] == '=';
    at = end;
  }
  return false;
}

char closerOf(char opener) {
  switch (opener) {
  case '(':
    return ')';
  case '[':
    return ']';
  case '{':
    return '}';
  case '<':
    return '>';
  default:
    return 0;
  }
}

/// Brackets that are open, by what closes them.
class Nesting {
public:
  /// Whether that nests too deep. A bracket that closes none of the open ones counts for nothing: it stops the parser.
  bool enter(char character) {
    if (char closer = closerOf(character)) {
      open.push_back(closer);
      return open.size() > kMaxTextDepth;
    }
    if (size_t found = open.rfind(character); found != std::string::npos)
      open.resize(found);
    return false;
  }

private:
  std::string open;
};

/// What is wrong with a token that ends before `end`; empty: nothing.
std::string objectionTo(StringRef token, StringRef text, size_t end, Nesting &nesting) {
  char first = token.front();
  if (token.size() == 1 && nesting.enter(first))
    return llvm::formatv("brackets nest more than {0} deep, which no text that smelt writes does; "
                         "compile the model again",
                         kMaxTextDepth);
  if (token == "affine_map" || token == "affine_set")
    return (token + " is in no text that smelt writes; compile the model again").str();
  bool isName = (first == '#' || first == '!') && token.size() > 1;
  if (isName && isDefined(text, end))
    return ("'" + token +
            "' is an alias, of which smelt writes and reads none; smelt-opt leaves "
            "them out with --mlir-print-local-scope")
        .str();
  return "";
}

LogicalResult checkText(StringRef text, MLIRContext *context, StringRef name) {
  auto placed = [&](unsigned line) { return FileLineColLoc::get(context, name, line, 0); };
  if (isBytecode(llvm::MemoryBufferRef(text, name)))
    return emitError(placed(0),
                     "is MLIR's bytecode, and smelt reads text; smelt-opt makes it that");
  Nesting nesting;
  for (size_t at = 0, end = 0; at < text.size(); at = end) {
    end = tokenEnd(text, at);
    std::string objection = objectionTo(text.slice(at, end), text, end, nesting);
    if (objection.empty())
      continue;
    auto line = static_cast<unsigned>(1 + text.take_front(at).count('\n'));
    return emitError(placed(line)) << "line " << line << ": " << objection;
  }
  return success();
}

} // namespace

OwningOpRef<ModuleOp> parseText(StringRef text, MLIRContext *context, StringRef name) {
  if (failed(checkText(text, context, name)))
    return nullptr;
  return parseSourceString<ModuleOp>(text, context, name);
}

OwningOpRef<ModuleOp> parseTextFile(StringRef path, MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    emitError(FileLineColLoc::get(context, path, 0, 0))
        << "cannot be read: " << buffer.getError().message();
    return nullptr;
  }
  return parseText((*buffer)->getBuffer(), context, path);
}

} // namespace smelt
