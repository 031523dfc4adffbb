#include "codegen/printer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

namespace smelt::codegen {

namespace {

constexpr char kMark = '$';

class Formatter {
public:
  Formatter(Variables variables) : variables(variables), used(variables.size()) {}

  std::string run(llvm::StringRef text) {
    text.consume_front("\n");
    std::string result;
    while (!text.empty()) {
      auto [line, rest] = text.split('\n');
      bool endsInBreak = line.size() < text.size();
      result += printLine(line, endsInBreak);
      text = rest;
    }
    for (auto [variable, isUsed] : llvm::zip_equal(variables, used))
      if (!isUsed)
        llvm::report_fatal_error("the template does not use $" + llvm::Twine(variable.first) + "$");
    return result;
  }

private:
  std::string printLine(llvm::StringRef line, bool endsInBreak) {
    llvm::StringRef content = line.ltrim(' ');
    bool isBlock = content.size() > 2 && content.front() == kMark && content.back() == kMark &&
                   content.count(kMark) == 2;
    if (isBlock) {
      std::string block =
          indented(value(content.drop_front().drop_back()), line.size() - content.size());
      if (!block.empty() && block.back() != '\n')
        block += '\n';
      return block;
    }
    std::string result;
    while (!line.empty()) {
      auto [text, rest] = line.split(kMark);
      result += text;
      if (text.size() == line.size())
        break;
      auto [name, tail] = rest.split(kMark);
      if (name.size() == rest.size())
        llvm::report_fatal_error("a template's variable lacks its closing $: " + llvm::Twine(line));
      result += value(name);
      line = tail;
    }
    return result + (endsInBreak ? "\n" : "");
  }

  llvm::StringRef value(llvm::StringRef name) {
    for (auto [index, variable] : llvm::enumerate(variables)) {
      if (variable.first == name) {
        used[index] = true;
        return variable.second;
      }
    }
    llvm::report_fatal_error("no value for the template's variable $" + llvm::Twine(name) + "$");
  }

  Variables variables;
  llvm::SmallVector<bool> used;
};

} // namespace

std::string format(llvm::StringRef text, Variables variables) {
  return Formatter(variables).run(text);
}

std::string indented(llvm::StringRef text, unsigned columns) {
  std::string result;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    if (!line.empty())
      result.append(columns, ' ');
    result += line;
    if (line.size() < text.size())
      result += '\n';
    text = rest;
  }
  return result;
}

} // namespace smelt::codegen
