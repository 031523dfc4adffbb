// Checks the kernel templates on a GPU against double-precision references, and times them.
//
// Every check draws fresh random operands, surrounds each buffer with guard bands, fills the output
// with NaN beforehand, and compares the norm of the error and the worst element. Timings replay a
// graph of dependent launches over rotating weights that exceed the L2 cache.
#include "tests/kernels/gpu_check.h"

#include "ir/interpret/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace smelt::kernel_tests {

/// Of a number of up to 7 bits behind the sign, which is no NaN.
static float decodeFloat8(uint32_t bits, int mantissaBits, int bias) {
  uint32_t magnitude = bits & 0x7f, exponent = magnitude >> mantissaBits;
  auto digits = float(magnitude & ((1u << mantissaBits) - 1));
  float value = exponent == 0 ? std::ldexp(digits, 1 - bias - mantissaBits)
                              : std::ldexp(digits + float(1u << mantissaBits),
                                           int(exponent) - bias - mantissaBits);
  return bits >> 7 == 0 ? value : -value;
}

static float decodeFloat8(Element element, uint32_t bits) {
  return element == Element::kFloat8E4M3 ? decodeFloat8(bits, 3, 7) : decodeFloat8(bits, 2, 15);
}

/// The largest number that is not above it.
static uint32_t encodeFloat8(Element element, float value) {
  uint32_t code = 0;
  for (uint32_t step = 0x40; step > 0; step /= 2)
    if (decodeFloat8(element, code + step) <= std::abs(value))
      code += step;
  return code | (value < 0 ? 0x80 : 0);
}

uint32_t encode(Element element, float value) {
  switch (element) {
  case Element::kFloat8E4M3:
  case Element::kFloat8E5M2:
    return encodeFloat8(element, value);
  case Element::kHalf:
    return floatToHalf(value);
  case Element::kBfloat16:
    return floatToBfloat16(value);
  default:
    return std::bit_cast<uint32_t>(value);
  }
}

double decode(Element element, uint32_t bits) {
  switch (element) {
  case Element::kHalf:
    return halfToFloat(static_cast<uint16_t>(bits));
  case Element::kBfloat16:
    return bfloat16ToFloat(static_cast<uint16_t>(bits));
  case Element::kFloat:
    return std::bit_cast<float>(bits);
  case Element::kFloat8E4M3:
  case Element::kFloat8E5M2:
    return decodeFloat8(element, bits);
  case Element::kInt8:
    return static_cast<int8_t>(bits);
  case Element::kUint8:
    return static_cast<uint8_t>(bits);
  case Element::kInt32:
    return static_cast<int32_t>(bits);
  }
  return 0;
}

Errors compare(const std::vector<double> &out, const std::vector<double> &reference) {
  double difference = 0, square = 0, largest = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (std::isnan(out[i]) != std::isnan(reference[i]))
      return {NAN, NAN};
    if (std::isnan(out[i]))
      continue;
    double d = std::abs(out[i] - reference[i]);
    difference += d * d;
    square += reference[i] * reference[i];
    largest = std::max(largest, d);
  }
  if (square == 0)
    return largest == 0 ? Errors{0, 0} : Errors{INFINITY, INFINITY};
  double rms = std::sqrt(square / double(out.size()));
  return {std::sqrt(difference / square), largest / rms};
}

Checker::Checker(Gpu &gpu, CheckOptions options)
    : gpu_(gpu), options_(std::move(options)), compiler_(options_.nvrtc) {}

bool Checker::selected(const KernelText &kernel) const {
  return kernel.name.find(options_.filter) != std::string::npos &&
         (!kernel.needsHopper || gpu_.hopper());
}

bool Checker::isInPart(const KernelText &kernel, bool isSmall) {
  return selected(kernel) && (isSmall || !options_.small) &&
         asked_++ % options_.parts == options_.part;
}

CUfunction Checker::load(const KernelText &kernel, const std::string &function) {
  CUfunction &loaded = functions_[kernel.name + "/" + function];
  if (loaded)
    return loaded;
  std::string cubin;
  if (!options_.cubins.empty()) {
    std::ifstream file(options_.cubins + "/" + kernel.name + ".cubin", std::ios::binary);
    cubin.assign(std::istreambuf_iterator<char>(file), {});
    if (cubin.empty())
      throw GpuError("there is no cubin of " + kernel.name + " in " + options_.cubins);
  } else {
    if (!compiler_.available())
      throw GpuError(compiler_.error());
    Compiled compiled = compiler_.compile(
        kernel.text, gpu_.hopper() ? "sm_90a" : "sm_80",
        {options_.source + "/codegen", options_.source + "/tests/kernels/device"});
    if (!compiled.succeeded)
      throw GpuError(kernel.name + " did not compile:\n" + compiled.log);
    cubin = compiled.cubin;
  }
  return loaded = gpu_.load(cubin, function, kernel.sharedBytes);
}

Buffer Checker::randomBuffer(Element element, size_t count, float scale) {
  constexpr uint32_t kFloats8PerNan = 1 << 14; // whose conversion to halves is our own
  constexpr size_t kPeriod = 1000003; // prime, so that no row or tile of large buffers repeats
  size_t width = elementBytes(element), drawn = std::min(count, kPeriod) * width;
  std::vector<char> bytes(count * width);
  for (size_t i = 0; i < drawn; i += width) {
    auto drawnBits = static_cast<uint32_t>(random_());
    float value = (float(drawnBits >> 8) * 0x1p-23f - 1.0f) * scale;
    uint32_t bits = isInteger(element) ? drawnBits : encode(element, value);
    if (isFloat8(element) && drawnBits % kFloats8PerNan == 0)
      bits = 0x7f; // of both types
    std::memcpy(bytes.data() + i, &bits, width);
  }
  for (size_t i = drawn; i < bytes.size(); i += drawn)
    std::memcpy(bytes.data() + i, bytes.data(), std::min(drawn, bytes.size() - i));
  Buffer buffer = gpu_.buffer(bytes.size());
  buffer.upload(bytes.data());
  return buffer;
}

std::vector<double> Checker::download(const Buffer &buffer, Element element) const {
  std::vector<char> bytes(buffer.bytes());
  buffer.download(bytes.data());
  size_t width = elementBytes(element);
  uint32_t poison = 0xffffffff >> (32 - 8 * width);
  std::vector<double> values(bytes.size() / width);
  for (size_t i = 0; i < values.size(); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * width, width);
    values[i] = bits == poison && !isInteger(element) ? INFINITY : decode(element, bits);
  }
  return values;
}

void Checker::add(Result result) {
  if (result.timing)
    std::printf("%8.2f us plain %8.2f us programmatic %8.1f TFLOP/s  %-24s %s\n", result.plainTime,
                result.programmaticTime, result.teraflops, result.shape.c_str(),
                result.kernel.c_str());
  else if (!result.passed)
    std::printf("FAILED error %.2e worst %.2e  %s  %s  %s\n", result.error, result.worst,
                result.shape.c_str(), result.kernel.c_str(), result.remark.c_str());
  std::fflush(stdout);
  results_.push_back(std::move(result));
}

int Checker::finish() const {
  int checks = 0, failed = 0;
  double worstError = 0;
  for (const Result &result : results_) {
    checks += !result.timing;
    failed += !result.passed;
    worstError = std::max(worstError, result.error);
  }
  std::printf("%d checks, %d failed, largest error norm %.2e\n", checks, failed, worstError);
  if (!options_.json.empty()) {
    std::ofstream out(options_.json);
    out << "{\"schema\": \"smelt.kernel_check/1\", \"device\": \"" << gpu_.name()
        << "\", \"results\": [\n";
    for (size_t i = 0; i < results_.size(); ++i) {
      const Result &r = results_[i];
      out << "{\"kernel\": \"" << r.kernel << "\", \"shape\": \"" << r.shape << "\", ";
      if (r.timing)
        out << "\"plain_us\": " << r.plainTime << ", \"programmatic_us\": " << r.programmaticTime
            << ", \"teraflops\": " << r.teraflops;
      else
        out << "\"passed\": " << (r.passed ? "true" : "false") << ", \"error\": \"" << r.error
            << "\", \"worst\": \"" << r.worst << "\"";
      out << "}" << (i + 1 < results_.size() ? "," : "") << "\n";
    }
    out << "]}\n";
  }
  return failed;
}

} // namespace smelt::kernel_tests

using namespace smelt::kernel_tests;

int main(int argc, char **argv) {
  CheckOptions options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    bool more = i + 1 < argc;
    if (argument == "--cubins" && more)
      options.cubins = argv[++i];
    else if (argument == "--source" && more)
      options.source = argv[++i];
    else if (argument == "--nvrtc" && more)
      options.nvrtc = argv[++i];
    else if (argument == "--filter" && more)
      options.filter = argv[++i];
    else if (argument == "--json" && more)
      options.json = argv[++i];
    else if (argument == "--load" && more)
      options.load = std::atof(argv[++i]);
    else if (argument == "--no-timings")
      options.timings = false;
    else if (argument == "--timings-only")
      options.checks = false;
    else if (argument == "--small")
      options.small = true;
    else if (argument == "--part" && more &&
             std::sscanf(argv[i + 1], "%zu/%zu", &options.part, &options.parts) == 2 &&
             options.part < options.parts)
      ++i;
    else
      return std::fprintf(
                 stderr,
                 "usage: %s [--source DIR] [--cubins DIR] [--nvrtc FILE] [--filter TEXT] [--json "
                 "FILE] "
                 "[--no-timings | --timings-only] [--small] [--part 0/16] [--load SECONDS]\n",
                 argv[0]),
             2;
  }
  std::unique_ptr<Gpu> gpu;
  try {
    gpu = std::make_unique<Gpu>();
  } catch (const GpuError &error) {
    std::printf("SKIPPED: %s; no kernel was run\n", error.what());
    return 77;
  }
  try {
    std::printf("%s\n", gpu->name().c_str());
    Checker checker(*gpu, options);
    if (options.checks) {
      checker.checkGemms();
      checker.checkAttentions();
      checker.checkReductions();
    }
    if (options.timings) {
      checker.timeGemms();
      checker.timeAttentions();
    }
    return checker.finish() == 0 ? 0 : 1;
  } catch (const GpuError &error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
}
