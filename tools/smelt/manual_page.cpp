// The manual page, in the man macros of troff.
#include "tools/smelt/option_table.h"

namespace smelt::tools {

/// Text that troff takes for nothing else: no line begins a request, no hyphen is broken or replaced.
static std::string troff(const std::string &text) {
  std::string escaped;
  bool startsLine = true;
  for (char c : text) {
    if (startsLine && (c == '.' || c == '\''))
      escaped += "\\&";
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else if (c == '\'')
      escaped += "\\(aq";
    else
      escaped += c;
    startsLine = c == '\n';
  }
  return escaped;
}

static std::string verbatim(const std::string &text) {
  return text.empty() ? "" : ".PP\n.nf\n" + troff(text) + "\n.fi\n";
}

static std::string optionsText(const std::vector<TableOption> &options) {
  std::string text;
  for (const TableOption &option : options) {
    text += ".TP\n";
    for (size_t i = 0; i < option.names.size(); ++i)
      text += (i > 0 ? ", " : "") + ("\\fB" + troff(option.names[i]) + "\\fR");
    if (!option.takes.empty() && option.names[0].starts_with('-'))
      text += " \\fI" + troff(option.takes) + "\\fR";
    text += "\n" + troff(option.help) + "\n";
  }
  return text;
}

static std::string commandText(const TableCommand &command) {
  std::string text = ".SS \"smelt " + command.name;
  for (const TableOption &argument : command.arguments)
    text += " " + argument.names[0];
  text += " [options]\"\n" + troff(command.help) + ".\n";
  return text + optionsText(command.arguments) + optionsText(command.options) +
         verbatim(command.footer);
}

std::string manualPage(const OptionTable &table) {
  std::string text = ".TH SMELT 1 \"\" \"Smelt " + table.version + "\" \"User Commands\"\n";
  text += ".SH NAME\nsmelt \\- compiles ONNX models into fused CUDA kernels and runs them\n";
  text += ".SH SYNOPSIS\n\\fBsmelt\\fR \\fIcommand\\fR [\\fIoptions\\fR]\n";
  text += ".SH DESCRIPTION\n" + troff(table.description) + "\n" + optionsText(table.options);
  text += ".SH COMMANDS\n";
  for (const TableCommand &command : table.commands)
    text += commandText(command);
  return text + ".SH EXAMPLES AND EXIT CODES\n" + verbatim(table.footer);
}

} // namespace smelt::tools
