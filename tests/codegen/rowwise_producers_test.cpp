// Every reduction over every producer whose index map depends on the column: the text must compile
// for both architectures without spills. A statement that stands before the declaration of what it
// reads shows here, whichever op it comes from.
#include "tests/codegen/kernel_compiles.h"

#include "llvm/ADT/StringExtras.h"

namespace smelt::codegen {
namespace {

/// Ops that make %p, a tensor <[{B}, {R}, {C}], {T}>, of inputs %0, %1, ... of these types.
struct Producer {
  std::string name;
  std::vector<std::string> inputs;
  std::string body;
};

/// Ops that reduce %p to the results `%y` of type `result`, perhaps with more inputs.
struct Consumer {
  std::string name, body, result;
};

/// Sizes and the element type that both are written for. C = C1 + C2, R = R1 + R2.
struct Setting {
  std::string name, type, batch;
  int rows1, rows2, columns1, columns2;
};

const std::vector<Producer> kProducers = {
    {"load", {"<[{B}, {R}, {C}], {T}>"}, "%p = smelt.neg %0 : <[{B}, {R}, {C}], {T}>"},
    {"add_row_vector",
     {"<[{B}, {R}, {C}], {T}>", "<[{C}], {T}>"},
     "%p = smelt.add %0, %1 : <[{B}, {R}, {C}], {T}>, <[{C}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"add_column_vector",
     {"<[{B}, {R}, {C}], {T}>", "<[{R}, 1], {T}>"},
     "%p = smelt.add %0, %1 : <[{B}, {R}, {C}], {T}>, <[{R}, 1], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"add_outer",
     {"<[{B}, 1, {C}], {T}>", "<[{R}, 1], {T}>"},
     "%p = smelt.add %0, %1 : <[{B}, 1, {C}], {T}>, <[{R}, 1], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"expand",
     {"<[{B}, {R}, 1], {T}>"},
     "%p = smelt.expand %0 : <[{B}, {R}, 1], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"transpose_inner",
     {"<[{B}, {C}, {R}], {T}>"},
     "%p = smelt.transpose %0 [0, 2, 1] : <[{B}, {C}, {R}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"transpose_outer",
     {"<[{C}, {B}, {R}], {T}>"},
     "%p = smelt.transpose %0 [1, 2, 0] : <[{C}, {B}, {R}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"reshape",
     {"<[{B}, {RC}], {T}>"},
     "%p = smelt.reshape %0 : <[{B}, {RC}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"reshape_of_transpose",
     {"<[{B}, {C}, {R}], {T}>"},
     "%a = smelt.transpose %0 [0, 2, 1] : <[{B}, {C}, {R}], {T}> -> <[{B}, {R}, {C}], {T}>\n"
     "%b = smelt.reshape %a : <[{B}, {R}, {C}], {T}> -> <[{B}, {C}, {R}], {T}>\n"
     "%p = smelt.reshape %b : <[{B}, {C}, {R}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"slice_step",
     {"<[{B}, {R}, {C}, 2], {T}>"},
     "%a = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<1>] "
     "steps [1, 1, 1, 1] : <[{B}, {R}, {C}, 2], {T}> -> <[{B}, {R}, {C}, 1], {T}>\n"
     "%p = smelt.reshape %a : <[{B}, {R}, {C}, 1], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"slice_backwards",
     {"<[{B}, {R}, {C}], {T}>"},
     "%p = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<{C}-1>] "
     "steps [1, 1, -1] : <[{B}, {R}, {C}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"slice_rows",
     {"<[{B}, {R}+5, {C}+3], {T}>"},
     "%p = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<2>, #smelt.dim<3>] "
     "steps [1, 1, 1] : <[{B}, {R}+5, {C}+3], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"gather_rows",
     {"<[{B}, 9, {C}], {T}>", "<[{R}], i64>"},
     "%p = smelt.gather %0, %1 axis 1 : <[{B}, 9, {C}], {T}>, <[{R}], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"gather_columns",
     {"<[{B}, {R}, 99], {T}>", "<[{C}], i32>"},
     "%p = smelt.gather %0, %1 axis 2 : <[{B}, {R}, 99], {T}>, <[{C}], i32> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"gather_table",
     {"<[99, {C}], {T}>", "<[{B}, {R}], i64>"},
     "%p = smelt.gather %0, %1 axis 0 : <[99, {C}], {T}>, <[{B}, {R}], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"gather_scalars",
     {"<[99], {T}>", "<[{B}, {R}, {C}], i64>"},
     "%p = smelt.gather %0, %1 axis 0 : <[99], {T}>, <[{B}, {R}, {C}], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"gather_elements_rows",
     {"<[{B}, 9, {C}], {T}>", "<[{B}, {R}, {C}], i64>"},
     "%p = smelt.gather_elements %0, %1 axis 1 : <[{B}, 9, {C}], {T}>, <[{B}, {R}, {C}], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"gather_elements_columns",
     {"<[{B}, {R}, 9], {T}>", "<[{B}, {R}, {C}], i64>"},
     "%p = smelt.gather_elements %0, %1 axis 2 : <[{B}, {R}, 9], {T}>, <[{B}, {R}, {C}], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"gather_nd",
     {"<[7, 9, {C}], {T}>", "<[{B}, {R}, 2], i64>"},
     "%p = smelt.gather_nd %0, %1 batch_dims 0 : <[7, 9, {C}], {T}>, <[{B}, {R}, 2], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"gather_nd_elements",
     {"<[7, 9], {T}>", "<[{B}, {R}, {C}, 2], i64>"},
     "%p = smelt.gather_nd %0, %1 batch_dims 0 : <[7, 9], {T}>, <[{B}, {R}, {C}, 2], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"concat_rows",
     {"<[{B}, {R1}, {C}], {T}>", "<[{B}, {R2}, {C}], {T}>"},
     "%p = smelt.concat %0, %1 axis 1 : !smelt.tensor<[{B}, {R1}, {C}], {T}>, "
     "!smelt.tensor<[{B}, {R2}, {C}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"concat_columns",
     {"<[{B}, {R}, {C1}], {T}>", "<[{B}, {R}, {C2}], {T}>"},
     "%p = smelt.concat %0, %1 axis 2 : !smelt.tensor<[{B}, {R}, {C1}], {T}>, "
     "!smelt.tensor<[{B}, {R}, {C2}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"concat_of_gather",
     {"<[99, {C1}], {T}>", "<[{B}, {R}], i64>", "<[{B}, {R}, {C2}], {T}>"},
     "%a = smelt.gather %0, %1 axis 0 : <[99, {C1}], {T}>, <[{B}, {R}], i64> -> "
     "<[{B}, {R}, {C1}], {T}>\n"
     "%p = smelt.concat %a, %2 axis 2 : !smelt.tensor<[{B}, {R}, {C1}], {T}>, "
     "!smelt.tensor<[{B}, {R}, {C2}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"gather_of_concat",
     {"<[{B}, {R1}, {C}], {T}>", "<[{B}, {R2}, {C}], {T}>", "<[{R}], i64>"},
     "%a = smelt.concat %0, %1 axis 1 : !smelt.tensor<[{B}, {R1}, {C}], {T}>, "
     "!smelt.tensor<[{B}, {R2}, {C}], {T}> -> <[{B}, {R}, {C}], {T}>\n"
     "%p = smelt.gather %a, %2 axis 1 : <[{B}, {R}, {C}], {T}>, <[{R}], i64> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"patch_merging",
     {"<[{B}, {R}, {C1}, 2], {T}>", "<[{B}, {R}, {C2}], {T}>"},
     "%s = smelt.slice %0 starts [#smelt.dim<0>, #smelt.dim<0>, #smelt.dim<0>, #smelt.dim<1>] "
     "steps [1, 1, 1, 1] : <[{B}, {R}, {C1}, 2], {T}> -> <[{B}, {R}, {C1}, 1], {T}>\n"
     "%a = smelt.reshape %s : <[{B}, {R}, {C1}, 1], {T}> -> <[{B}, {R}, {C1}], {T}>\n"
     "%p = smelt.concat %a, %1 axis 2 : !smelt.tensor<[{B}, {R}, {C1}], {T}>, "
     "!smelt.tensor<[{B}, {R}, {C2}], {T}> -> <[{B}, {R}, {C}], {T}>"},
    {"where",
     {"<[{R}, 1], i1>", "<[{B}, {R}, {C}], {T}>", "<[{C}], {T}>"},
     "%p = smelt.select %0, %1, %2 : <[{R}, 1], i1>, <[{B}, {R}, {C}], {T}>, <[{C}], {T}> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"trilu",
     {"<[{R}, 1], i64>", "<[{B}, {R}, {C}], {T}>"},
     "%z = smelt.constant dense<0.0> : tensor<{T}> : <[], {T}>\n"
     "%i = smelt.iota : <[{C}], i64>\n"
     "%c = smelt.less_equal %0, %i : <[{R}, 1], i64>, <[{C}], i64> -> <[{R}, {C}], i1>\n"
     "%p = smelt.select %c, %1, %z : <[{R}, {C}], i1>, <[{B}, {R}, {C}], {T}>, <[], {T}> -> "
     "<[{B}, {R}, {C}], {T}>"},
    {"positions",
     {"<[{B}, {R}, 1], {T}>"},
     "%i = smelt.iota : <[{RC}], i64>\n"
     "%j = smelt.reshape %i : <[{RC}], i64> -> <[{R}, {C}], i64>\n"
     "%f = smelt.cast %j : <[{R}, {C}], i64> -> <[{R}, {C}], {T}>\n"
     "%p = smelt.mul %0, %f : <[{B}, {R}, 1], {T}>, <[{R}, {C}], {T}> -> "
     "<[{B}, {R}, {C}], {T}>"},
};

const std::string kSame = "<[{B}, {R}, {C}], {T}>";

const std::vector<Consumer> kConsumers = {
    {"sum_of_row",
     "%y = smelt.reduce sum %p axes [2] : <[{B}, {R}, {C}], {T}> -> <[{B}, {R}, 1], {T}>",
     "<[{B}, {R}, 1], {T}>"},
    {"max_of_matrix",
     "%y = smelt.reduce max %p axes [1, 2] : <[{B}, {R}, {C}], {T}> -> <[{B}, 1, 1], {T}>",
     "<[{B}, 1, 1], {T}>"},
    {"mean_of_all",
     "%y = smelt.reduce mean %p axes [0, 1, 2] : <[{B}, {R}, {C}], {T}> -> <[1, 1, 1], {T}>",
     "<[1, 1, 1], {T}>"},
    {"softmax", "%y = smelt.softmax %p axis 2 : <[{B}, {R}, {C}], {T}>", kSame},
    {"layer_norm",
     "%y = smelt.layer_norm %p axis 2 {epsilon = 1.0e-5 : f32} : <[{B}, {R}, {C}], {T}> -> "
     "<[{B}, {R}, {C}], {T}>",
     kSame},
    {"layer_norm_of_matrix",
     "%y = smelt.layer_norm %p axis 1 {epsilon = 1.0e-5 : f32} : <[{B}, {R}, {C}], {T}> -> "
     "<[{B}, {R}, {C}], {T}>",
     kSame},
    {"rms_norm",
     "%n = smelt.rms_norm %p axis 2 {epsilon = 1.0e-5 : f32} : <[{B}, {R}, {C}], {T}> -> "
     "<[{B}, {R}, {C}], {T}>\n"
     "%y = smelt.add %n, %p : <[{B}, {R}, {C}], {T}>, <[{B}, {R}, {C}], {T}> -> "
     "<[{B}, {R}, {C}], {T}>",
     kSame},
};

// Whole vectors, odd sizes, rows that are too long for registers, sizes that are open.
const std::vector<Setting> kSettings = {
    {"even", "f16", "4", 8, 8, 32, 96},
    {"odd", "f32", "3", 2, 3, 17, 20},
    {"long", "f32", "2", 2, 4, 6000, 30001},
    {"open", "f16", "n", 2, 6, 8, 24},
};

std::string fill(std::string text, const Setting &s) {
  auto number = [](int value) { return std::to_string(value); };
  int rows = s.rows1 + s.rows2, columns = s.columns1 + s.columns2;
  const std::pair<const char *, std::string> variables[] = {{"{R}+5", number(rows + 5)},
                                                            {"{C}+3", number(columns + 3)},
                                                            {"{C}-1", number(columns - 1)},
                                                            {"{B}", s.batch},
                                                            {"{T}", s.type},
                                                            {"{R}", number(rows)},
                                                            {"{C}", number(columns)},
                                                            {"{R1}", number(s.rows1)},
                                                            {"{R2}", number(s.rows2)},
                                                            {"{C1}", number(s.columns1)},
                                                            {"{C2}", number(s.columns2)},
                                                            {"{RC}", number(rows * columns)}};
  for (const auto &[name, value] : variables)
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
      text.replace(at, llvm::StringRef(name).size(), value);
  return text;
}

/// The pair as a module with one row-wise fusion.
std::string moduleOf(const Producer &producer, const Consumer &consumer, const Setting &setting) {
  std::vector<std::string> outer, names, types, inner;
  for (size_t i = 0; i < producer.inputs.size(); ++i) {
    std::string type = "!smelt.tensor" + producer.inputs[i];
    names.push_back("%arg" + std::to_string(i));
    outer.push_back(names.back() + ": " + type);
    types.push_back(type);
    inner.push_back("%" + std::to_string(i) + ": " + type);
  }
  std::string result = "!smelt.tensor" + consumer.result;
  return fill("func.func @f(" + llvm::join(outer, ", ") + ") -> " + result +
                  " {\n%out = smelt.fusion rowwise(" + llvm::join(names, ", ") + ") : (" +
                  llvm::join(types, ", ") + ") -> " + result + " {\n^bb0(" +
                  llvm::join(inner, ", ") + "):\n" + producer.body + "\n" + consumer.body +
                  "\nsmelt.yield %y : " + result + "\n}\nreturn %out : " + result + "\n}\n",
              setting);
}

struct RowwiseProducersTest : KernelCompilesTest, testing::WithParamInterface<Setting> {};

TEST_P(RowwiseProducersTest, CompileUnderEveryReduction) {
  // The text is the same for both architectures: each pair goes to one, all ops to both.
  size_t number = 0;
  for (const Producer &producer : kProducers)
    for (const Consumer &consumer : kConsumers) {
      SCOPED_TRACE(producer.name + " " + consumer.name);
      expectCompiles(moduleOf(producer, consumer, GetParam()), ++number % 2 ? "sm_90a" : "sm_80");
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RowwiseProducersTest, testing::ValuesIn(kSettings),
                         [](const auto &info) { return info.param.name; });

} // namespace
} // namespace smelt::codegen
