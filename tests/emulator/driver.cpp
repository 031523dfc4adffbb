// A libcuda.so.1 whose device is the host: the fake driver, with kernels that compute, compiled by the libnvrtc.so.13 of
// nvrtc.cpp. Programs that know nothing of it run what they generate without a GPU: smelt, the generator, kernel_check.
#include "runtime/fake_driver_exports.h"
#include "runtime/idle_kernels.h"
#include "tests/emulator/machine.h"
#include "tests/emulator/tensor_map.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <span>
#include <unistd.h>

namespace smelt::runtime {

namespace {

using emulator::HostKernel;
using emulator::HostTensorMap;

// As of a GPU's driver, nothing is destroyed before the process ends: other libraries' destructors still free what they have.

/// The device. Its compute capability is what SMELT_EMULATOR_CAPABILITY says, ten times major plus minor, or 90.
FakeDriver &device() {
  const char *capability = std::getenv("SMELT_EMULATOR_CAPABILITY");
  static auto *fake =
      new FakeDriver(FakeDevice{.computeCapability = capability ? std::stoi(capability) : 90});
  return *fake;
}

/// How many bytes an ELF file has: the linker puts the table of sections last.
size_t bytesOf(const void *file) {
  Elf64_Ehdr header;
  std::memcpy(&header, file, sizeof(header));
  return header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
}

/// Opens the library that lies there. It stays: its kernels may be run as long as the process lives.
void *openLibrary(const void *file) {
  static int number = 0;
  std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      ("smelt-emulator-" + std::to_string(getpid()) + "-" + std::to_string(number++) + ".so");
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char *>(file), std::streamsize(bytesOf(file)));
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    std::cerr << "emulator: " << dlerror() << '\n';
  std::filesystem::remove(path);
  return library;
}

emulator::Index3 indexOf(const std::array<unsigned, 3> &size) {
  return {std::max(size[0], 1u), std::max(size[1], 1u), std::max(size[2], 1u)};
}

void compute(const std::string &name, HostKernel kernel, const FakeKernelCall &call) {
  // The alignment of any parameter: of a tensor map.
  struct alignas(64) Room {
    std::byte bytes[64];
  };
  std::vector<std::vector<Room>> rooms;
  emulator::KernelLaunch launch = {name,
                                   kernel,
                                   indexOf(call.grid),
                                   indexOf(call.block),
                                   indexOf(call.cluster),
                                   call.sharedBytes};
  for (const std::vector<std::byte> &parameter : call.parameters) {
    rooms.emplace_back(parameter.size() / sizeof(Room) + 1);
    std::memcpy(rooms.back().data(), parameter.data(), parameter.size());
    launch.parameters.push_back(rooms.back().data());
  }
  emulator::run(launch);
}

/// The kernels of one module, by their names. The fake knows them by others, for those of two modules may have one name.
using KernelNames = std::map<std::string, std::string>;

/// Has the fake know the library's kernels.
KernelNames addKernels(const void *file) {
  static int count = 0;
  KernelNames names;
  void *library = openLibrary(file);
  for (auto &[name, declared] : idleKernels(file)) {
    auto kernel = reinterpret_cast<HostKernel>(dlsym(library, ("smelt_run_" + name).c_str()));
    if (kernel == nullptr)
      continue;
    declared.compute = [name, kernel](const FakeKernelCall &call) { compute(name, kernel, call); };
    names[name] = name + "#" + std::to_string(count++);
    device().addKernel(names[name], std::move(declared));
  }
  return names;
}

void loadModules(DriverApi &table) {
  static auto &modules = *new std::map<CUmodule, KernelNames>;
  table.cuModuleLoadDataEx =
      [load = table.cuModuleLoadDataEx](CUmodule *module, const void *code, unsigned count,
                                        CUjit_option *options, void **values) {
        CUresult result = load(module, code, count, options, values);
        if (result == CUDA_SUCCESS)
          modules[*module] = addKernels(code);
        return result;
      };
  table.cuModuleGetFunction = [get = table.cuModuleGetFunction](CUfunction *function,
                                                                CUmodule module, const char *name) {
    const KernelNames &names = modules[module];
    auto known = names.find(name);
    return known == names.end() ? CUDA_ERROR_NOT_FOUND
                                : get(function, module, known->second.c_str());
  };
}

/// Few multiprocessors: blocks that stay on theirs, as many as there are, take several tiles each, of small problems too.
void haveFewMultiprocessors(DriverApi &table) {
  constexpr int kMultiprocessors = 3;
  table.cuDeviceGetAttribute = [get = table.cuDeviceGetAttribute](
                                   int *value, CUdevice_attribute attribute, CUdevice device) {
    CUresult result = get(value, attribute, device);
    if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
      *value = kMultiprocessors;
    return result;
  };
}

unsigned elementBytes(CUtensorMapDataType type) {
  switch (type) {
  case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    return 1;
  case CU_TENSOR_MAP_DATA_TYPE_UINT16:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
  case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    return 2;
  case CU_TENSOR_MAP_DATA_TYPE_INT64:
  case CU_TENSOR_MAP_DATA_TYPE_UINT64:
  case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    return 8;
  default:
    return 4;
  }
}

/// What the fake does not note of a map, noted in its last word: how elements lie in shared memory.
void noteLayout(CUtensorMap *map, CUtensorMapDataType type, CUtensorMapSwizzle swizzle,
                std::span<const cuuint32_t> box) {
  auto &host = *reinterpret_cast<HostTensorMap *>(map);
  host.kind = elementBytes(type) | uint64_t(swizzle) << 8;
  for (size_t axis = 0; axis < box.size(); ++axis)
    host.box |= uint64_t(box[axis]) << 12 * axis;
}

void encodeTensorMaps(DriverApi &table) {
  table.cuTensorMapEncodeTiled =
      [encode = table.cuTensorMapEncodeTiled](
          CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
          const cuuint64_t *sizes, const cuuint64_t *strides, const cuuint32_t *box,
          const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
          CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
        CUresult result = encode(map, type, rank, address, sizes, strides, box, steps, interleave,
                                 swizzle, promotion, fill);
        if (result == CUDA_SUCCESS)
          noteLayout(map, type, swizzle, {box, rank});
        return result;
      };
  table.cuTensorMapEncodeIm2col =
      [encode = table.cuTensorMapEncodeIm2col](
          CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
          const cuuint64_t *sizes, const cuuint64_t *strides, const int *lower, const int *upper,
          cuuint32_t channels, cuuint32_t pixels, const cuuint32_t *steps,
          CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
          CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
        CUresult result = encode(map, type, rank, address, sizes, strides, lower, upper, channels,
                                 pixels, steps, interleave, swizzle, promotion, fill);
        if (result == CUDA_SUCCESS)
          noteLayout(map, type, swizzle, {});
        return result;
      };
}

} // namespace

Driver exportedDriver() {
  static const auto *table = [] {
    auto made = std::make_shared<DriverApi>(*device().driver());
    haveFewMultiprocessors(*made);
    loadModules(*made);
    encodeTensorMaps(*made);
    return new Driver(made);
  }();
  return *table;
}

} // namespace smelt::runtime
