// What passes decided prints as it parses, whatever the names of the model's nodes hold.
// RUN: smelt-opt %s | smelt-opt | FileCheck %s

// CHECK: module attributes {smelt.guards = [#smelt.guard<<q> less_equal <1024>, "the table has 1024 rows">, #smelt.guard<<m> equal <2*n + 1>, "">],
// CHECK-SAME: smelt.remarks = [#smelt.remark<taken "gemm" of "/layer.0/\22q\22\\\0A" by "", "matmul, add">,
// CHECK-SAME: #smelt.remark<refused "attention" of "MatMul_7" by "the head size is at most 256", "it is 320">]} {
module attributes {
  smelt.guards = [#smelt.guard<<q> less_equal <1024>, "the table has 1024 rows">, #smelt.guard<<m> equal <n*2 + 1>, "">],
  smelt.remarks = [#smelt.remark<taken "gemm" of "/layer.0/\"q\"\\\n" by "", "matmul, add">,
                   #smelt.remark<refused "attention" of "MatMul_7" by "the head size is at most 256", "it is 320">]} {
}
