// smelt_compiler.hpp: engines on the CPU, and what callbacks throw while they run.
#include "compiler/smelt_compiler.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace {

/// Images for the demo model, and what it makes of them; bound while it lives.
struct Digits {
  Digits(smelt::Context &context, std::int64_t count)
      : images(count * 64, 0.25f), logits(count * 10) {
    context.setInputShape("images", {count, 1, 8, 8});
    EXPECT_EQ(context.outputShape("logits"), (smelt::Shape{count, 10}));
    context.bindInput("images", smelt::host(images.data(), images.size()));
    context.bindOutput("logits", smelt::host(logits.data(), logits.size()));
  }

  std::vector<float> images, logits;
};

std::vector<float> run(smelt::Context &context, std::int64_t count) {
  Digits digits(context, count);
  context.run();
  return digits.logits;
}

TEST(CpuEngineCpp, RunsAndOutlivesItsCompilation) {
  smelt::Engine engine = smelt::Compilation(SMELT_DEMO_MODEL).toCpuEngine();
  EXPECT_EQ(engine.deviceName().rfind("cpu, ", 0), 0u);
  EXPECT_EQ(engine.inputs().at(0).name, "images");
  smelt::Context context(engine);
  std::vector<float> one = run(context, 1), three = run(context, 3);
  EXPECT_NE(one[0], one[1]);
  for (int i = 0; i < 30; ++i)
    EXPECT_NEAR(three[i], one[i % 10], 1e-4f);
  smelt::DeviceMemory memory(engine, 64);
  std::memset(memory.address(), 0, 64);
  EXPECT_THROW(context.run(&engine), smelt::Error);
}

/// As one of an application's.
struct Impatience {};

TEST(CpuEngineCpp, ARunThrowsWhatItsCallbackThrows) {
  std::thread::id impatient;
  smelt::CompileOptions options;
  options.onProgress = [&](const smelt::CompileProgress &progress) {
    if (progress.phase == "run" && std::this_thread::get_id() == impatient)
      throw Impatience();
    return true;
  };
  smelt::Engine engine = smelt::Compilation(SMELT_DEMO_MODEL, options).toCpuEngine();
  smelt::Context context(engine), other(engine);
  std::vector<float> expected = run(other, 2);
  impatient = std::this_thread::get_id();
  Digits digits(context, 2);
  EXPECT_THROW(context.run(), Impatience);
  std::thread([&] {
    EXPECT_EQ(run(other, 2), expected);
  }).join(); // another thread's is none of its business
  EXPECT_THROW(context.enqueue(), Impatience);
  impatient = std::thread::id();
  EXPECT_EQ(run(context, 2), expected);
}

TEST(CpuEngineCpp, AStoppedRunIsAnError) {
  smelt::CompileOptions options;
  options.onProgress = [](const smelt::CompileProgress &progress) {
    return progress.phase != "run" || progress.done < 3;
  };
  smelt::Engine engine = smelt::Compilation(SMELT_DEMO_MODEL, options).toCpuEngine();
  smelt::Context context(engine);
  try {
    run(context, 1);
    FAIL() << "it was not stopped";
  } catch (const smelt::Error &error) {
    EXPECT_EQ(error.code(), SMELT_RESOURCES);
    EXPECT_NE(std::strstr(error.what(), "stopped"), nullptr) << error.what();
  }
}

} // namespace
