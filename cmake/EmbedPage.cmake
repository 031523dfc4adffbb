# Puts the parts of HTML (a folder), DAGRE (a module) and HIGHLIGHT (a folder of CommonJS modules) into
# page.html, and that into one C++ file at OUTPUT. Run with `cmake -P`.

file(READ ${HTML}/page.html page)
file(READ ${DAGRE} dagre)
# A module's last line exports; in a script of the page its constant is there for the others.
string(REGEX REPLACE "\nexport [^\n]*\n?$" "\n" dagre "${dagre}")
file(READ ${HIGHLIGHT}/highlight.js highlight)
file(READ ${HIGHLIGHT}/languages/cpp.js cpp)
set(libraries "${dagre}
((module) => {
${highlight}
${cpp}
hljs.registerLanguage('cpp', module.exports);
hljs.configure({ hideUpgradeWarningAcceptNoSupportOrSecurityUpdates: true }); // Debian's version 9: its own text of kernels alone goes in
})({});
")

set(scripts "")
foreach(name svg tree graph charts plots panes main)
  file(READ ${HTML}/${name}.js script)
  string(APPEND scripts "${script}\n")
endforeach()
file(READ ${HTML}/charts.css charts)
file(READ ${HTML}/style.css style)

string(REPLACE "@STYLE@" "${charts}${style}" page "${page}")
string(REPLACE "@LIBRARIES@" "${libraries}" page "${page}")
string(REPLACE "@SCRIPTS@" "${scripts}" page "${page}")
string(HEX "${page}" bytes)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")

file(WRITE ${OUTPUT}.new "#include \"tools/smelt/html_report_page.h\"

namespace smelt::tools {
static constexpr unsigned char kPage[] = {${bytes}};

std::string_view pageTemplate() { return {reinterpret_cast<const char *>(kPage), sizeof kPage}; }
} // namespace smelt::tools
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
