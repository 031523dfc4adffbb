// compiler/resolve_shapes: what follows from given shapes, defaults, and the refusals.
#include "compiler/resolve_shapes.h"

#include "tests/compiler/bert_signature.h"

#include <gtest/gtest.h>

using namespace smelt;
using namespace smelt::compiler;

namespace {

using Shapes = std::vector<std::vector<int64_t>>;

/// A decoder with a cache: the mask covers what is kept and what is new; positions have a table.
Signature decoderSignature() {
  Port ids{"ids", ElementType::i64, {symbol("batch"), symbol("seq")}, std::nullopt};
  Port mask{"mask", ElementType::i64, {symbol("rows"), symbol("total")}, std::nullopt};
  Port past{"past", ElementType::f16, {symbol("batch"), symbol("kept")}, std::nullopt};
  return {{ids, mask, past},
          {},
          {},
          {{"batch", "node '/add' needs 'b' = 'batch'"}},
          {{"kept + seq", "total", true, "the mask covers all keys"},
           {"batch", "rows", false, "rows are read from the mask"},
           {"total", "512", false, "the table of positions"}}};
}

template <typename T> void expectRefused(const Result<T> &result, const char *part) {
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().code(), StatusCode::kUsage);
  EXPECT_NE(result.status().message().find(part), std::string::npos) << result.status().message();
}

} // namespace

TEST(ResolveShapes, TakesSymbolsFromAnyInput) {
  Signature signature = bertSignature();
  signature.inputs.pop_back();
  Result<Shapes> shapes = resolveShapes(signature, {{"attention_mask", {3, 77}}});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(*shapes, (Shapes{{3, 77}, {3, 77}}));
}

TEST(ResolveShapes, DefaultsToBatchOneAndLength128) {
  Signature signature = bertSignature();
  signature.inputs.pop_back();
  Result<Shapes> shapes = resolveShapes(signature, {});
  ASSERT_TRUE(shapes.isOk());
  EXPECT_EQ(*shapes, (Shapes{{1, 128}, {1, 128}}));
}

TEST(ResolveShapes, ExpressionsFollowTheirSymbols) {
  Result<Shapes> open = resolveShapes(bertSignature(), {{"attention_mask", {2, 5}}});
  ASSERT_TRUE(open.isOk()) << open.status().message();
  EXPECT_EQ(*open, (Shapes{{2, 5}, {2, 5}, {2, 12, 10}}));
  open = resolveShapes(bertSignature(), {{"bias", {2, 12, 10}}});
  ASSERT_TRUE(open.isOk()) << open.status().message();
  EXPECT_EQ(*open, (Shapes{{2, 5}, {2, 5}, {2, 12, 10}}));
  Result<Shapes> shapes =
      resolveShapes(bertSignature(), {{"input_ids", {2, 5}}, {"bias", {2, 12, 10}}});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(*shapes, (Shapes{{2, 5}, {2, 5}, {2, 12, 10}}));
}

TEST(ResolveShapes, RefusesWhatTheModelDoesNotTake) {
  expectRefused(resolveShapes(bertSignature(), {{"ids", {1, 2}}}),
                "it has 'input_ids', 'attention_mask', 'bias'");
  expectRefused(resolveShapes(bertSignature(), {{"input_ids", {1, 2, 3}}}), "it has 2 dimensions");
  expectRefused(resolveShapes(bertSignature(), {{"bias", {1, 11, 4}}}), "dimension 1 must be 12");
  expectRefused(resolveShapes(bertSignature(), {{"input_ids", {1, 2}}, {"attention_mask", {1, 3}}}),
                "'seq' is 2 by another");
}

TEST(ResolveShapes, TakesSizesOfZero) {
  auto shapes = resolveShapes(bertSignature(), {{"input_ids", {0, 2}}});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(shapes->front(), (std::vector<int64_t>{0, 2}));
}

TEST(FollowShapes, EqualitiesFixOtherInputs) {
  Result<NamedShapes> shapes =
      followShapes(decoderSignature(), {{"ids", {3, 7}}, {"past", {kAnyExtent, 128}}});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_EQ(shapes->at("mask"), (std::vector<int64_t>{kAnyExtent, 135}));
  EXPECT_EQ(shapes->at("past"), (std::vector<int64_t>{3, 128}));
}

TEST(FollowShapes, NamesTheInputsThatContradictEachOther) {
  expectRefused(followShapes(decoderSignature(), {{"ids", {3, 7}}, {"mask", {3, 5}}}), "'ids'");
  expectRefused(followShapes(decoderSignature(), {{"ids", {3, 7}}, {"mask", {3, 5}}}), "'mask'");
  expectRefused(followShapes(decoderSignature(), {{"ids", {3, 7}}, {"mask", {3, 5}}}),
                "the mask covers all keys");
  expectRefused(followShapes(decoderSignature(), {{"ids", {3, 7}}, {"past", {2, 1}}}),
                "'batch' is 3 by another dimension, of input 'ids'; node '/add' needs");
  expectRefused(followShapes(decoderSignature(), {{"mask", {1, 513}}}), "the table of positions");
}

TEST(ResolveShapes, ChoosesDefaultsThatTheGuardsAllow) {
  Result<Shapes> shapes = resolveShapes(decoderSignature(), {{"ids", {8, 500}}});
  ASSERT_TRUE(shapes.isOk()) << shapes.status().message();
  EXPECT_GE((*shapes)[1][0], 8);
  EXPECT_EQ((*shapes)[1][1], 500 + (*shapes)[2][1]);
  EXPECT_LE((*shapes)[1][1], 512);
}
