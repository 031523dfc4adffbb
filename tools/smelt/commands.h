// The subcommands of `smelt`, one file each. Every function here adds one to the command line.
#pragma once

#include "tools/smelt/command_line.h"
#include "tools/smelt/inputs.h"
#include "tools/smelt/open.h"

namespace smelt::tools {

void addRun(CommandLine &line);
void addCompile(CommandLine &line);
void addBench(CommandLine &line);
void addCheck(CommandLine &line);
void addExplain(CommandLine &line);
void addInspect(CommandLine &line);
void addCompare(CommandLine &line);
void addDiff(CommandLine &line);
void addTrtexec(CommandLine &line);
void addPatch(CommandLine &line);
void addKernel(CommandLine &line);
void addTuneWorker(CommandLine &line);
void addReport(CommandLine &line);
void addHelp(CommandLine &line);

// Flags that several commands share.
void addJson(Command &command, bool &json);
/// --value of what is compiled and not run.
void addValues(Command &command, std::vector<std::string> &values);
/// --random-weights and --repair-types: how a file is read that lacks something.
void addMissing(Command &command, ModelFlags &flags);
void addPrecision(Command &command, FloatPrecision &precision);
void addDevice(Command &command, DeviceChoice &device);
/// --dim.
void addDimensions(Command &command, std::vector<std::string> &dimensions);
/// The model, "The .onnx file" or whatever else `takes` says, and the device that it runs on.
void addModel(Command &command, const char *takes, OpenFlags &flags);
void addInputs(Command &command, InputFlags &flags);

} // namespace smelt::tools
