#include "codegen/kernels/gemm/gemm_descriptions.h"

#include "llvm/ADT/SmallVector.h"

#include <array>

using llvm::ArrayRef;
using llvm::SmallVector;

namespace smelt::codegen {

namespace {

/// A number of a configuration, by its name.
struct Parameter {
  const char *name;
  int value;
};

std::string instantiation(const char *config, ArrayRef<Parameter> parameters) {
  std::string text;
  for (const Parameter &parameter : parameters)
    text += (text.empty() ? "" : ", ") + std::string("/*") + parameter.name + "*/ " +
            std::to_string(parameter.value);
  return std::string(config) + "<" + text + ">";
}

std::string nameForPeople(const char *instruction, ArrayRef<Parameter> parameters) {
  std::string text = instruction;
  for (const Parameter &parameter : parameters)
    text += (&parameter == parameters.begin() ? " " : ", ") + std::string(parameter.name) + " " +
            std::to_string(parameter.value);
  return text;
}

template <class Tiling>
GemmChoice described(const Tiling &t, int blockK, int sharedBytes,
                     std::array<const char *, 4> names, ArrayRef<Parameter> parameters) {
  auto [instruction, header, function, config] = names;
  return {header,
          function,
          instantiation(config, parameters),
          nameForPeople(instruction, parameters),
          t.blockM,
          t.blockN,
          blockK,
          t.clusterK,
          t.threads(),
          sharedBytes};
}

/// What the tilings that mma computes have in common.
template <class Tiling> SmallVector<Parameter> mmaParameters(const Tiling &t) {
  return {{"blockM", t.blockM}, {"blockN", t.blockN}, {"blockK", t.blockK},    {"warpsM", t.warpsM},
          {"warpsN", t.warpsN}, {"stages", t.stages}, {"clusterK", t.clusterK}};
}

} // namespace

GemmChoice describe(const GemmWgmmaTiling &t, int elementBytes) {
  GemmChoice choice = described(t, kWgmmaStepBytes / elementBytes, t.sharedBytes(),
                                {"wgmma", "gemm_wgmma", "gemmWgmma", "GemmWgmmaConfig"},
                                {{"blockM", t.blockM},
                                 {"blockN", t.blockN},
                                 {"stages", t.stages},
                                 {"clusterK", t.clusterK},
                                 {"helpers", t.helpers}});
  choice.fillsRegisters = t.minBlocks() > 1 && t.blockM * t.blockN >= 128 * 128;
  return choice;
}

GemmChoice describe(const GemmTmaTiling &t, int elementBytes) {
  SmallVector<Parameter> parameters = {{"blockM", t.blockM},
                                       {"blockN", t.blockN},
                                       {"stages", t.stages},
                                       {"pingPong", t.pingPong},
                                       {"clusterK", t.clusterK}};
  if (t.oneTile || t.residentSteps > 0)
    parameters.push_back({"oneTile", t.oneTile});
  if (t.residentSteps > 0)
    parameters.push_back({"residentSteps", t.residentSteps});
  GemmChoice choice = described(t, kWgmmaStepBytes / elementBytes, t.sharedBytes(),
                                {"wgmma, tma", t.oneTile ? "gemm_tma_tile" : "gemm_tma",
                                 t.oneTile ? "gemmTmaTile" : "gemmTma", "GemmTmaConfig"},
                                parameters);
  choice.takesTilesInTurn = !t.oneTile && t.clusterK == 1;
  choice.keepsColumns = t.residentSteps > 0;
  choice.usesTensorMaps = true;
  choice.tilesOfMoments = t.tilesOfMoments();
  choice.isForOddRows = t.isForOddRows();
  return choice;
}

GemmChoice describe(const GemmTiling &t, int elementBytes) {
  SmallVector<Parameter> parameters = mmaParameters(t);
  parameters.push_back({"warpsK", t.warpsK});
  return described(t, t.blockK, t.sharedBytes(elementBytes), {"mma", "gemm", "gemm", "GemmConfig"},
                   parameters);
}

GemmChoice describe(const GemmSplitTiling &t) {
  GemmChoice choice =
      described(t, t.blockK, t.sharedBytes(sizeof(float)),
                {"mma, split", "gemm", "gemm", "GemmSplitConfig"}, mmaParameters(t));
  choice.splitsFloats = true;
  return choice;
}

GemmChoice describe(const GemmSimtTiling &t) {
  return described(t, t.blockK, t.sharedBytes(),
                   {"simt", "gemm_simt", "gemmSimt", "GemmSimtConfig"},
                   {{"blockM", t.blockM},
                    {"blockN", t.blockN},
                    {"blockK", t.blockK},
                    {"threadM", t.threadM},
                    {"threadN", t.threadN},
                    {"stages", t.stages},
                    {"clusterK", t.clusterK}});
}

} // namespace smelt::codegen
