// What DLPack's tensors are to Smelt.
#include "runtime/dlpack.h"

#include "tests/runtime/fake_model.h"
#include "tests/runtime/lent_tensor.h"

namespace smelt::dlpack {
namespace {

using test::isOk;
using test::isRefused;
using test::LentTensor;

TEST(Dlpack, NamesEveryElementType) {
  for (smelt_element_type type = SMELT_F32; type <= SMELT_U2; ++type) {
    SCOPED_TRACE(smelt_element_type_name(type));
    LentTensor lent(this, {3, 5});
    lent.managed.dl_tensor.dtype = typeOf(type);
    Result<View> read = view(lent.managed.dl_tensor, kSubBytePadded);
    ASSERT_TRUE(isOk(read));
    EXPECT_EQ(read->elementType, type);
    EXPECT_EQ(read->bytes, 15 * smelt_element_bytes(type));
    bool isPacked = typeOf(type).bits < 8;
    EXPECT_EQ(view(lent.managed.dl_tensor, 0).isOk(), !isPacked);
  }
  EXPECT_EQ(typeOf(SMELT_BF16).code, 4);
  EXPECT_EQ(typeOf(SMELT_F8E4M3FN).code, 10);
  EXPECT_EQ(typeOf(SMELT_F4E2M1).bits, 4);
}

TEST(Dlpack, TakesAScalar) {
  LentTensor lent(this, {});
  lent.managed.dl_tensor.shape = nullptr;
  Result<View> read = view(lent.managed.dl_tensor, 0);
  ASSERT_TRUE(isOk(read));
  EXPECT_EQ(read->shape, std::vector<int64_t>());
  EXPECT_EQ(read->bytes, sizeof(float));
}

TEST(Dlpack, TakesEveryStrideWhereThereIsNothingToStepOver) {
  LentTensor lent(this, {1, 4, 1, 3});
  lent.setStrides({-7, 3, 1000, 1});
  EXPECT_TRUE(isOk(view(lent.managed.dl_tensor, 0)));
  LentTensor empty(nullptr, {2, 0, 3});
  empty.setStrides({3, 3, 1}); // PyTorch's
  Result<View> read = view(empty.managed.dl_tensor, 0);
  ASSERT_TRUE(isOk(read));
  EXPECT_EQ(read->bytes, 0u);
  empty.setStrides({0, -5, 17});
  EXPECT_TRUE(isOk(view(empty.managed.dl_tensor, 0)));
}

TEST(Dlpack, RefusesWhatIsNotRowMajor) {
  LentTensor lent(this, {3, 4});
  for (const std::vector<int64_t> &strides : std::vector<std::vector<int64_t>>{
           {1, 3}, {8, 1}, {4, 2}, {0, 1}, {-4, 1}, {4, -1}, {3, 1}}) {
    lent.setStrides(strides);
    EXPECT_TRUE(isRefused(view(lent.managed.dl_tensor, 0).status(), StatusCode::kUsage,
                          "the tensor is not contiguous: its shape is [3, 4], its strides are " +
                              shapeText(strides)));
  }
}

TEST(Dlpack, ReadsTheRoomOfATensorThatGrows) {
  LentTensor lent(this, {2, 3, 5, 8}); // a slice of [2, 3, 16, 8]
  lent.setStrides({3 * 16 * 8, 16 * 8, 8, 1});
  Result<View> read = view(lent.managed.dl_tensor, 0, 2);
  ASSERT_TRUE(isOk(read));
  EXPECT_EQ(read->capacity, 16);
  EXPECT_EQ(read->bytes, 2u * 3 * 16 * 8 * sizeof(float));
  EXPECT_TRUE(isRefused(view(lent.managed.dl_tensor, 0, 1).status(), StatusCode::kUsage,
                        "not contiguous")); // another axis grows
  EXPECT_FALSE(view(lent.managed.dl_tensor, 0).isOk());

  lent.shape[2] = 0; // nothing yet
  read = view(lent.managed.dl_tensor, 0, 2);
  ASSERT_TRUE(isOk(read));
  EXPECT_EQ(read->capacity, 16);
  lent.setStrides({24, 8, 8, 1}); // nothing, and no room: as PyTorch makes it
  read = view(lent.managed.dl_tensor, 0, 2);
  ASSERT_TRUE(isOk(read));
  EXPECT_EQ(read->capacity, 0);
  EXPECT_EQ(read->bytes, 0u);

  lent.shape[2] = 5;
  for (const std::vector<int64_t> &strides : std::vector<std::vector<int64_t>>{
           {3 * 4 * 8, 4 * 8, 8, 1},       // less room than there is
           {3 * 16 * 8, 16 * 8 + 1, 8, 1}, // no multiple of a row
           {4 * 5 * 8, 5 * 8, 8, 1},       // room before another axis
           {4 * 16 * 8, 16 * 8, 8, 1},     // a gap before the growing axis' rows
           {3 * 16 * 8, 16 * 8, 9, 1}}) {
    lent.setStrides(strides);
    EXPECT_TRUE(isRefused(view(lent.managed.dl_tensor, 0, 2).status(), StatusCode::kUsage,
                          "not contiguous"))
        << shapeText(strides);
  }
  lent.setStrides({3 * 5 * 8, 5 * 8, 8, 1});
  read = view(lent.managed.dl_tensor, 0, 2);
  ASSERT_TRUE(isOk(read));
  EXPECT_EQ(read->capacity, 0);
}

/// What is wrong with a tensor, and the message.
struct Wrong {
  std::string message;
  std::function<void(DLTensor &)> spoil;
};

TEST(Dlpack, RefusesWhatMakesNoSense) {
  int64_t negative[] = {3, -1}, huge[] = {int64_t(1) << 40, int64_t(1) << 40},
          large[] = {int64_t(1) << 31, int64_t(1) << 31};
  const Wrong wrongs[] = {
      {"has -2 dimensions: it was freed, or never filled in",
       [](auto &tensor) { tensor.ndim = -2; }},
      {"has 1000000 dimensions", [](auto &tensor) { tensor.ndim = 1000000; }},
      {"has 2 dimensions and no shape", [](auto &tensor) { tensor.shape = nullptr; }},
      {"has a negative extent: its shape is [3, -1]",
       [&](auto &tensor) { tensor.shape = negative; }},
      {"of shape [1099511627776, 1099511627776] is too large",
       [&](auto &tensor) { tensor.shape = huge; }},
      {"of shape [2147483648, 2147483648] is too large",
       [&](auto &tensor) { tensor.shape = large; }},
      {"of shape [3, 4] has no memory (data is NULL): it was freed",
       [](auto &tensor) { tensor.data = nullptr; }},
      {"does not know (DLPack's code 5, 64 bits); convert it",
       [](auto &tensor) { tensor.dtype = {5, 64, 1}; }},
      {"does not know (DLPack's code 2, 80 bits)", [](auto &tensor) { tensor.dtype = {2, 80, 1}; }},
      {"has elements of 4 lanes; give it", [](auto &tensor) { tensor.dtype.lanes = 4; }},
      {"has elements of 0 lanes", [](auto &tensor) { tensor.dtype.lanes = 0; }},
      {"packs several elements of 4 bits into a byte; give each a byte of its own",
       [](auto &tensor) { tensor.dtype = {0, 4, 1}; }},
      {"neither in host memory nor on a CUDA device, but on one of DLPack's type 10",
       [](auto &tensor) { tensor.device.device_type = 10; }}};
  for (const Wrong &wrong : wrongs) {
    LentTensor lent(this, {3, 4});
    wrong.spoil(lent.managed.dl_tensor);
    EXPECT_TRUE(
        isRefused(view(lent.managed.dl_tensor, 0).status(), StatusCode::kUsage, wrong.message));
  }
}

} // namespace
} // namespace smelt::dlpack
