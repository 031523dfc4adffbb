#include "runtime/verify_ptx.h"

#include "runtime/verify_shared.h"

#include <algorithm>
#include <string_view>

namespace smelt::runtime {

namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

void skipSpaces(std::string_view &text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
}

/// How often `word` stands in the text.
size_t countOf(std::string_view word, std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size())
    ++count;
  return count;
}

} // namespace

Status verifyPtx(std::span<const std::byte> ptx) {
  std::string_view text = textOf(ptx);
  if (text.empty() || text.find('\0') != text.size() - 1)
    return invalidCode("is no text that ends with a NUL");
  if (text.find(".version") == std::string_view::npos)
    return invalidCode("is no PTX");
  return {};
}

std::optional<size_t> ptxParameterCount(std::span<const std::byte> ptx, const std::string &entry) {
  constexpr std::string_view kEntry = ".entry", kParameter = ".param";
  std::string_view rest = textOf(ptx);
  for (size_t at = 0; (at = rest.find(kEntry)) != std::string_view::npos;) {
    rest.remove_prefix(at + kEntry.size());
    skipSpaces(rest);
    if (!rest.starts_with(entry))
      continue;
    rest.remove_prefix(entry.size());
    skipSpaces(rest);
    if (rest.starts_with('('))
      return countOf(kParameter, rest.substr(0, rest.find(')')));
  }
  return std::nullopt;
}

} // namespace smelt::runtime
