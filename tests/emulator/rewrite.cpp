#include "tests/emulator/rewrite.h"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string_view>

namespace smelt::emulator {

namespace {

constexpr char kPredicate[] = "predicate_"; // so that its name is none of the operands'

bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::string_view trimmed(std::string_view text) {
  size_t begin = text.find_first_not_of(" \t\n\r"), end = text.find_last_not_of(" \t\n\r");
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

[[noreturn]] void refuse(const std::string &what, std::string_view text) {
  throw std::runtime_error("emulator: " + what + ": " + std::string(text.substr(0, 200)));
}

/// The end of a string literal that begins at `at`.
size_t endOfLiteral(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    at += text[at] == '\\';
  return at + 1;
}

/// The place after the parenthesis that closes the one at `open`.
size_t endOfParentheses(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == '"')
      at = endOfLiteral(text, at) - 1;
    depth += text[at] == '(';
    if (text[at] == ')' && --depth == 0)
      return at + 1;
  }
  refuse("an open parenthesis", text.substr(open));
}

/// Splits at `separator` outside of literals and brackets of any kind.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"')
      at = endOfLiteral(text, at) - 1;
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (depth == 0 && c == separator) {
      parts.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// Literals in a row, as one string.
std::string joinLiterals(std::string_view text) {
  std::string joined;
  for (size_t at = text.find('"'); at < text.size(); at = text.find('"', at)) {
    size_t end = endOfLiteral(text, at);
    joined += text.substr(at + 1, end - at - 2);
    at = end;
  }
  return joined;
}

/// `"=f"(x), "r"(y)`: the expressions.
void addOperands(std::vector<std::string> &operands, std::string_view list) {
  for (std::string_view operand : split(list, ',')) {
    if (trimmed(operand).empty())
      continue;
    size_t open = operand.find('(', endOfLiteral(operand, operand.find('"')));
    size_t end = endOfParentheses(operand, open);
    operands.emplace_back(operand.substr(open + 1, end - open - 2));
  }
}

/// An operand as it stands in an instruction: %3, [%1], {%0, %1}, a number, a predicate, _.
std::string operandText(std::string_view operand, const std::vector<std::string> &operands) {
  operand = trimmed(operand);
  if (operand.front() == '[' || operand.front() == '{') {
    std::string inner;
    for (std::string_view part : split(operand.substr(1, operand.size() - 2), ','))
      inner += (inner.empty() ? "" : ", ") + operandText(part, operands);
    return operand.front() == '{' ? "::smelt::emulator::group(" + inner + ")" : inner;
  }
  if (operand == "_")
    return "::smelt::emulator::ignored";
  if (std::isalpha(static_cast<unsigned char>(operand.front())))
    return kPredicate + std::string(operand);
  if (operand.front() != '%')
    return std::string(operand);
  return "(" + operands.at(std::stoul(std::string(operand.substr(1)))) + ")";
}

/// "16, 8, 8" of m16n8k8; empty for what is no shape.
std::string shapeArguments(std::string_view part) {
  std::string numbers, letters;
  for (char c : part)
    if (std::isdigit(static_cast<unsigned char>(c)))
      numbers += c;
    else
      letters += c, numbers += numbers.empty() ? "" : ", ";
  return letters == "mnk" && std::isdigit(static_cast<unsigned char>(part.back())) ? numbers : "";
}

/// "mma.sync.m16n8k8.f32" as "mma_sync_f32<16, 8, 8>".
std::string functionName(std::string_view mnemonic) {
  std::string name = "::smelt::emulator::", arguments;
  for (std::string_view part : split(mnemonic, '.')) {
    if (std::string shape = shapeArguments(part); !shape.empty()) {
      arguments = "<" + shape + ">";
      continue;
    }
    name += name.ends_with(':') ? "" : "_";
    for (char c : part)
      name += isWordPart(c) ? c : '_';
  }
  return name + arguments;
}

/// Of `.reg .pred name`. No other register is declared.
std::string predicateName(std::string_view declaration) {
  constexpr std::string_view kBegin = ".reg .pred ";
  if (!declaration.starts_with(kBegin))
    refuse("a register that is no predicate", declaration);
  return kPredicate + std::string(trimmed(declaration.substr(kBegin.size())));
}

std::string instructionText(std::string_view instruction,
                            const std::vector<std::string> &operands) {
  size_t space = std::min(instruction.find(' '), instruction.size());
  std::string_view mnemonic = instruction.substr(0, space),
                   rest = trimmed(instruction.substr(space));
  if (mnemonic == ".reg")
    return "bool " + predicateName(instruction) + " = false;";
  std::string arguments;
  for (std::string_view operand : split(rest, ','))
    if (!trimmed(operand).empty())
      arguments += (arguments.empty() ? "" : ", ") + operandText(operand, operands);
  return functionName(mnemonic) + "(" + arguments + ");";
}

/// What stands between the parentheses of a statement in assembly, as a statement without its semicolon.
std::string statementText(std::string_view assembly) {
  std::vector<std::string_view> parts;
  for (std::string_view part : split(assembly, ':'))
    parts.push_back(part);
  std::vector<std::string> operands;
  for (size_t i = 1; i < parts.size() && i < 3; ++i)
    addOperands(operands, parts[i]);
  std::string code = joinLiterals(parts[0]);
  std::string_view instructions = trimmed(code);
  if (instructions.starts_with('{'))
    instructions = instructions.substr(1, instructions.size() - 2);
  std::string calls;
  for (std::string_view instruction : split(instructions, ';'))
    if (!trimmed(instruction).empty())
      calls += instructionText(trimmed(instruction), operands) + " ";
  return "do { " + calls + "} while (false)";
}

/// Where `word` stands as a word of its own, from `at` on; npos where nowhere.
size_t findWord(std::string_view text, std::string_view word, size_t at) {
  for (at = text.find(word, at); at != text.npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isWordPart(text[at - 1])) && (end == text.size() || !isWordPart(text[end])))
      return at;
  }
  return text.npos;
}

/// Each occurrence of a word, with what belongs to it, replaced: `rewrite` is given the text from the word on, and returns the
/// replacement and how many characters it replaces.
template <class Rewrite>
std::string replaceWords(const std::string &text, std::string_view word, Rewrite rewrite) {
  std::string result;
  size_t from = 0;
  for (size_t at; (at = findWord(text, word, from)) != text.npos;) {
    auto [replacement, length] = rewrite(std::string_view(text).substr(at));
    result.append(text, from, at - from).append(replacement);
    from = at + length;
  }
  return result.append(text, from);
}

std::pair<std::string, size_t> rewriteAssembly(std::string_view text) {
  size_t open = text.find('('), end = endOfParentheses(text, open);
  return {statementText(text.substr(open + 1, end - open - 2)), end};
}

std::pair<std::string, size_t> rewriteCast(std::string_view) {
  return {"::smelt::emulator::cast", std::string_view("static_cast").size()};
}

/// Loops stay loops: that compiles sooner.
std::pair<std::string, size_t> rewriteUnroll(std::string_view text) {
  return {"", text.find('\n')};
}

/// `extern __shared__ __align__(1024) char name[];`
std::pair<std::string, size_t> rewriteExtern(std::string_view text) {
  size_t end = text.find(';');
  std::string_view declaration = text.substr(0, std::min(end, text.find('{')));
  if (!declaration.ends_with("[]") || declaration.find("__shared__") == text.npos)
    return {"extern", std::string_view("extern").size()};
  declaration.remove_suffix(2);
  std::string name(declaration.substr(declaration.find_last_of(" \n") + 1));
  return {"char *" + name + " = ::smelt::emulator::dynamicShared();", end + 1};
}

/// `__shared__ alignas(16) char name[4]`: the alignment stands first.
std::pair<std::string, size_t> rewriteShared(std::string_view text) {
  constexpr std::string_view kShared = "__shared__";
  std::string_view rest = trimmed(text.substr(kShared.size()));
  if (!rest.starts_with("alignas(") && !rest.starts_with("__align__("))
    return {"static", kShared.size()};
  size_t end = endOfParentheses(rest, rest.find('('));
  return {std::string(rest.substr(0, end)) + " static", size_t(rest.data() - text.data()) + end};
}

} // namespace

std::string rewriteForHost(const std::string &text) {
  std::string host = replaceWords(text, "asm", rewriteAssembly);
  host = replaceWords(host, "extern", rewriteExtern);
  host = replaceWords(host, "__shared__", rewriteShared);
  host = replaceWords(host, "static_cast", rewriteCast);
  return replaceWords(host, "#pragma unroll", rewriteUnroll);
}

std::vector<std::string> kernelNames(const std::string &text) {
  constexpr std::string_view kBounds = "__launch_bounds__", kResult = "void ";
  std::vector<std::string> names;
  for (size_t at = 0; (at = findWord(text, "__global__", at)) != text.npos; ++at) {
    std::string_view rest = std::string_view(text).substr(at);
    rest.remove_prefix(rest.find(kResult) + kResult.size());
    if (rest.starts_with(kBounds))
      rest = trimmed(rest.substr(endOfParentheses(rest, kBounds.size())));
    names.emplace_back(trimmed(rest.substr(0, rest.find('('))));
  }
  return names;
}

} // namespace smelt::emulator
