// Every op that the frontend imports can be drawn, and what is drawn is valid and computes what the interpreter says.
#include "tests/generate/judge.h"
#include "tests/generate/kinds.h"
#include "tests/generate/matrix.h"
#include "tests/generate/rules.h"

#include "frontend/node_table.h"

#include <gtest/gtest.h>

#include <set>

namespace smelt::generate {
namespace {

constexpr uint64_t kSeeds = 12;

/// Ops that no rule can draw. The frontend's tests cover them.
bool cannotBeDrawn(llvm::StringRef op) {
  static const std::set<llvm::StringRef> kOfChance = {"RandomNormal", "RandomNormalLike",
                                                      "RandomUniform", "RandomUniformLike"};
  return kOfChance.contains(op); // they have no one answer
}

void expectRule(const std::string &op) {
  EXPECT_NE(findRule(op) != nullptr, cannotBeDrawn(op))
      << "no rule draws " << op << "; add one to tests/generate/rules_*.cpp";
}

TEST(Rules, EveryImportedOpHasOne) {
  for (llvm::StringRef op : frontend::knownOps())
    expectRule(op.str());
  for (llvm::StringRef domain : {"com.microsoft", "ai.onnx.preview"})
    for (llvm::StringRef op : frontend::knownOps(domain))
      expectRule((domain + "." + op).str());
}

TEST(Rules, EveryOneDrawsAGraphThatIsJudged) {
  JudgeOptions options;
  options.architectures.clear();
  for (const Rule &rule : rules()) {
    size_t agreed = 0;
    std::string failure, rejection;
    for (const ElementType type : {Wire::FLOAT, Wire::INT64, Wire::INT8, Wire::UINT64, Wire::BOOL})
      for (uint64_t seed = 0; seed < kSeeds && failure.empty(); ++seed)
        if (auto graph = drawChain({std::string(rule.op)}, type, seed)) {
          Outcome outcome = judge(*graph, options);
          agreed += outcome.agrees();
          rejection = outcome.rejection;
          failure = outcome.failure ? outcome.failure->stage + ": " + outcome.failure->message : "";
        }
    EXPECT_TRUE(failure.empty()) << rule.op << " fails: " << failure;
    EXPECT_GT(agreed, 0u) << rule.op << " is never judged: " << rejection;
  }
}

TEST(Rules, AGraphIsTheSameEveryTime) {
  for (const std::string &kind : kindNames())
    EXPECT_EQ(drawGraph(kind, 7, {}).bytes(), drawGraph(kind, 7, {}).bytes()) << kind;
}

TEST(Rules, ALowerLimitGivesSmallerSizes) {
  DrawOptions small;
  small.maxExtent = 3;
  Graph graph = drawGraph("products", 3, small);
  for (const auto &[name, value] : graph.values)
    for (const Size &size : value.shape)
      EXPECT_LE(size.largest(), 20) << name; // slices and joins add a little
}

TEST(Kinds, EachDrawsWhatItIsNamedFor) {
  const std::map<std::string, std::set<std::string>> wanted = {
      {"products", {"MatMul", "Gemm", "MatMulInteger"}}, {"convolutions", {"Conv"}}};
  for (const auto &[kind, ops] : wanted)
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      bool found = false;
      Graph graph = drawGraph(kind, seed, {});
      for (const onnx_wire::Node &node : graph.model.graph().node())
        found |= ops.contains(node.op_type());
      EXPECT_TRUE(found) << kind << " " << seed;
    }
}

TEST(Matrix, HoldsEveryPairOfEveryType) {
  size_t ops = rules().size();
  EXPECT_EQ(pairTasks().size(), ops * ops * everyType().size());
  EXPECT_EQ(tripleTasks(50).size(), 50u);
}

} // namespace
} // namespace smelt::generate
