// Messages put together from pieces.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace smelt {

/// "launch 3 has ..." from joinText("launch ", 3, " has ...").
template <typename... Pieces> std::string joinText(const Pieces &...pieces) {
  std::string text;
  auto append = [&text](const auto &piece) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(piece)>>)
      text += std::to_string(piece);
    else
      text += std::string_view(piece);
  };
  (append(pieces), ...);
  return text;
}

/// "[3, 77, 768]"
inline std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (int64_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

} // namespace smelt
