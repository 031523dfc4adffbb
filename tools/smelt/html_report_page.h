// The page of `smelt report`: tools/smelt/html with the libraries that it draws by, put together at
// build time (cmake/EmbedPage.cmake).
#pragma once

#include <string_view>

namespace smelt::tools {

/// Where the data goes.
inline constexpr char kDataMark[] = "@DATA@";

/// HTML with one kDataMark in it.
std::string_view pageTemplate();

} // namespace smelt::tools
