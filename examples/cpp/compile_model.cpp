// Compiles an ONNX model in process and runs the plan on zeros, in C++17; where there is no GPU, the
// model runs on the CPU. With a second argument "stop", stops at the first kernel.
//
//   compile_model model.onnx [stop]
#include <smelt_compiler.hpp>

#include <cstdio>
#include <string>

static smelt::Compilation compilationOf(const std::string &model, bool stopsAtKernels) {
  smelt::CompileOptions options;
  options.onDiagnostic = [](const smelt::CompileDiagnostic &diagnostic) {
    std::fprintf(stderr, "%s: %s\n", diagnostic.place.c_str(), diagnostic.message.c_str());
  };
  options.onProgress = [stopsAtKernels](const smelt::CompileProgress &progress) {
    std::printf("%s: %zu of %zu\n", progress.phase.c_str(), progress.done, progress.total);
    return !stopsAtKernels || progress.phase != "kernels";
  };
  return smelt::Compilation(model, options);
}

static smelt::Engine open(smelt::Compilation &compilation) {
  smelt::CompiledPlan plan = compilation.toMemory();
  try {
    smelt_engine_options options = SMELT_ENGINE_OPTIONS_INIT;
    return smelt::Engine(plan.data(), plan.bytes(), options);
  } catch (const smelt::Error &error) {
    if (error.code() != SMELT_ENVIRONMENT)
      throw;
    std::fprintf(stderr, "on the CPU, which is slower by far: %s\n", error.what());
  }
  return compilation.toCpuEngine();
}

/// Room for a tensor; dimensions left open are 1.
static std::vector<char> roomFor(smelt_element_type type, smelt::Shape &shape) {
  std::size_t bytes = smelt_element_bytes(type);
  for (std::int64_t &extent : shape)
    bytes *= static_cast<std::size_t>(extent < 0 ? extent = 1 : extent);
  return std::vector<char>(bytes);
}

static smelt::Memory memoryOf(smelt_element_type type, std::vector<char> &room) {
  return {SMELT_HOST, type, room.data(), room.size()};
}

static void run(const smelt::Engine &engine) {
  smelt::Context context(engine);
  std::vector<std::vector<char>> rooms;
  for (smelt::TensorInfo &input : engine.inputs()) {
    rooms.push_back(roomFor(input.elementType, input.shape));
    context.setInputShape(input.name, input.shape);
    context.bindInput(input.name, memoryOf(input.elementType, rooms.back()));
  }
  for (const smelt::TensorInfo &output : engine.outputs()) {
    smelt::Shape shape = context.outputShape(output.name);
    rooms.push_back(roomFor(output.elementType, shape));
    context.bindOutput(output.name, memoryOf(output.elementType, rooms.back()));
    std::printf("%s: %zu bytes\n", output.name.c_str(), rooms.back().size());
  }
  context.run();
  std::printf("ran on %s\n", engine.deviceName().c_str());
}

int main(int count, char **arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: compile_model model.onnx [stop]\n");
    return SMELT_USAGE;
  }
  try {
    smelt::Compilation compilation =
        compilationOf(arguments[1], count > 2 && arguments[2] == std::string("stop"));
    run(open(compilation));
  } catch (const smelt::Error &error) {
    std::fprintf(stderr, "compile_model: %s\n", error.what());
    return error.code();
  }
  return 0;
}
