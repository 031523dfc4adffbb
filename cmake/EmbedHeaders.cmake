# Turns the .cuh files of FOLDERS (relative to ROOT) into one C++ file at OUTPUT. Run with `cmake -P`.
# The text becomes arrays of bytes: string literals have length limits.

set(names "")
foreach(folder IN LISTS FOLDERS)
  file(GLOB_RECURSE found RELATIVE ${ROOT} ${ROOT}/${folder}/*.cuh)
  list(APPEND names ${found})
endforeach()
list(SORT names)

set(arrays "")
set(rows "")
set(index 0)
foreach(name IN LISTS names)
  file(READ ${ROOT}/${name} bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kText${index}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", reinterpret_cast<const char *>(kText${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()

file(WRITE ${OUTPUT}.new "#include \"codegen/embedded_headers.h\"

namespace smelt::codegen {
namespace {
${arrays}
const EmbeddedHeader kHeaders[] = {
${rows}};
} // namespace

std::span<const EmbeddedHeader> embeddedHeaders() { return kHeaders; }
} // namespace smelt::codegen
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
