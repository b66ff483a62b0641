// SPDX-License-Identifier: Apache-2.0
// Everything a model file can get wrong is refused by name, with shapes and a way out.
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;

namespace
{

Tensor zeros(Shape shape) { return Tensor::zeros(DType::Float32, std::move(shape)); }

struct Refusal
{
    OpCase node;
    const char* says;
};

std::vector<Refusal> refusals()
{
    const Tensor x = zeros({1, 3, 5, 5});
    const Tensor w = zeros({4, 3, 3, 3});
    const auto one = std::int64_t{1};
    return {
        {OpCase("Conv").operand(x), "operand 1 is missing"},
        {OpCase("Conv").operand(x).constant(w).constant(zeros({4})).operand(x), "operand 3 is one too many"},
        {OpCase("Conv").operand(x).constant(zeros({4, 2, 3, 3})), "do not fit together"},
        {OpCase("Conv").operand(x).constant(zeros({4, 3, 3})), "the weights have rank 3"},
        {OpCase("Conv").operand(x).constant(zeros({4, 3, 7, 3})), "a window spans 7 positions"},
        {OpCase("Conv").operand(zeros({1, 3})).constant(zeros({4, 3})), "operand 0 has rank 2"},
        {OpCase("Conv").operand(x).constant(zeros({4, 3, 0, 3})), "kernel extent 0"},
        {OpCase("Conv").with("strides", Ints{0, 1}).operand(x).constant(w), "strides contains 0"},
        {OpCase("Conv").with("strides", Ints{1}).operand(x).constant(w), "strides has 1 entries"},
        {OpCase("Conv").with("pads", Ints{-1, 0, 0, 0}).operand(x).constant(w), "pads contains -1"},
        {OpCase("Conv").with("pads", Ints{1LL << 40, 0, 0, 0}).operand(x).constant(w), "pads contains 1099511627776"},
        {OpCase("Conv").with("pads", Ints{1 << 29, 1 << 29, 0, 0}).operand(x).constant(w), "more than"},
        {OpCase("Conv").with("auto_pad", std::string("SOME")).operand(x).constant(w), "auto_pad 'SOME' is unknown"},
        {OpCase("Conv").with("group", std::int64_t{0}).operand(x).constant(w), "0 groups"},
        {OpCase("Conv").with("group", 1.0).operand(x).constant(w),
         "attribute 'group' is a float, but must be an integer"},
        {OpCase("Conv").with("kernel_shape", Ints{5, 5}).operand(x).constant(w), "kernel_shape does not agree"},
        {OpCase("Conv").operand(x).constant(w).constant(zeros({3})), "the bias must have the shape [4]"},
        {OpCase("Conv").operand(x).constant(w.to(DType::Float64)), "operand 1 is float64"},
        {OpCase("ConvTranspose").operand(x).constant(zeros({4, 2, 3, 3})), "do not fit together"},
        {OpCase("ConvTranspose").with("output_padding", Ints{9, 0}).operand(x).constant(zeros({3, 2, 3, 3})),
         "output_padding 9"},
        {OpCase("ConvTranspose").with("pads", Ints{9, 9, 9, 9}).operand(x).constant(zeros({3, 2, 3, 3})),
         "impossible shape"},
        {OpCase("ConvTranspose").with("output_shape", Ints{9}).operand(x).constant(zeros({3, 2, 3, 3})),
         "need 2 entries"},
        {OpCase("Elu").with("alpha", HUGE_VAL).operand(x), "'alpha' must be finite"},
        {OpCase("ConvTranspose")
             .with("output_shape", Ints{std::numeric_limits<std::int64_t>::min(), 9})
             .operand(x)
             .constant(zeros({3, 2, 3, 3})),
         "negative extent"},
        {OpCase("MatMul").operand(zeros({2, 3})).operand(zeros({2, 3})), "inner extents 3 and 2 differ"},
        {OpCase("MatMul").operand(zeros({})).operand(zeros({2, 3})), "a scalar cannot be multiplied"},
        {OpCase("MatMul").operand(zeros({2, 4, 3})).operand(zeros({3, 3, 2})), "do not broadcast"},
        {OpCase("MatMul").operand(zeros({2, 3})).operand(ints({1})), "operand 1 is int64, but operand 0 is float32"},
        {OpCase("Gemm").operand(zeros({2, 3})).constant(zeros({3, 2})).constant(zeros({3})), "do not broadcast"},
        {OpCase("Gemm").operand(zeros({2, 3})).constant(zeros({3, 2})).constant(zeros({2, 2, 2})),
         "C does not broadcast"},
        {OpCase("Gemm").operand(zeros({2, 3, 1})).constant(zeros({3, 2})), "must be matrices"},
        {OpCase("Add").operand(zeros({2})).operand(zeros({3})), "do not broadcast"},
        {OpCase("Add").operand(zeros({2})).operand(ints({1, 2})), "operand 1 is int64, but operand 0 is float32"},
        {OpCase("Add").operand(zeros({1LL << 20, 1})).operand(zeros({1, 1LL << 20})), "more than"},
        {OpCase("Reshape").operand(x).operand(ints({75})), "operand 1 ('x1') must be known before the run"},
        {OpCase("Reshape").operand(x).constant(zeros({1})), "must hold integers, not float32"},
        {OpCase("Reshape").operand(x).constant(ints({76})), "75 elements do not fit the shape [76]"},
        {OpCase("Reshape").operand(x).constant(ints({-1, 4})), "do not divide into rows of 4"},
        {OpCase("Reshape").operand(x).constant(ints({-1, -1})), "impossible shape"},
        {OpCase("Reshape").operand(x).constant(ints({-1, 1LL << 40, 1LL << 40})), "more than"},
        {OpCase("Reshape").operand(x).constant(ints({75, 1, 1, 1, 0})), "the shape copies extent 4"},
        {OpCase("Flatten").with("axis", std::int64_t{5}).operand(x), "axis 5 is outside"},
        {OpCase("Squeeze").operand(x).constant(ints({1})), "axis 1 has extent 3"},
        {OpCase("Unsqueeze").operand(x).constant(ints({0, 0})), "an axis is named twice"},
        {OpCase("Unsqueeze").operand(x).constant(ints({7})), "axis 7 is outside"},
        {OpCase("Transpose").with("perm", Ints{0, 1, 1, 2}).operand(x), "perm [0, 1, 1, 2]"},
        {OpCase("Transpose").with("perm", Ints{0}).operand(x), "perm [0]"},
        {OpCase("Concat").operand(x), "attribute 'axis' is missing"},
        {OpCase("Concat").with("axis", one).operand(x).operand(zeros({1, 3, 4, 5})), "cannot be joined"},
        {OpCase("Concat").with("axis", one).operand(x).operand(zeros({1, 3})), "cannot be joined"},
        {OpCase("Split").operand(x).outputs(2), "does not divide into 2 equal pieces"},
        {OpCase("Split").with("axis", one).operand(x).constant(ints({1, 1})).outputs(2), "do not add up"},
        {OpCase("Split").with("axis", one).operand(x).constant(ints({4, -1})).outputs(2), "do not add up"},
        {OpCase("Split", 18).with("axis", one).with("num_outputs", std::int64_t{3}).operand(x).outputs(2),
         "num_outputs is 3"},
        {OpCase("Split", 18).with("axis", one).with("num_outputs", std::int64_t{5}).operand(zeros({1, 3})).outputs(5),
         "too small for 5 pieces"},
        {OpCase("Stack", 1, "ai.retrograde").operand(x).operand(w), "cannot be joined"},
        {OpCase("Unbind", 1, "ai.retrograde").operand(x).outputs(2), "axis 0 has extent 1"},
        {OpCase("Pad").with("mode", std::string("wrap")).operand(x).constant(ints({0, 0, 0, 0, 0, 0, 0, 0})),
         "mode 'wrap' is not known at this opset"},
        {OpCase("Pad").with("mode", std::string("reflect")).operand(zeros({3, 2})).constant(ints({0, 0, 3, 0})),
         "puts 3 elements on a side of axis 0, but its 3 elements mirror at most 2"},
        {OpCase("Pad").with("mode", std::string("reflect")).operand(zeros({3})).constant(ints({-1, 2})),
         "its 2 elements mirror at most 1"},
        {OpCase("Pad").with("mode", std::string("edge")).operand(zeros({3})).constant(ints({-3, 1})),
         "axis 0 has no elements to continue with"},
        {OpCase("Pad").operand(x).constant(ints({1, 1})), "pads has 2 entries"},
        {OpCase("Pad").operand(x).constant(ints({0, 0, 0, 0, 0, 0, -3, -3})).operand(zeros({2})),
         "constant_value must be"},
        {OpCase("Pad").operand(x).constant(ints({0, 0, -9, 0, 0, 0, 0, 0})), "impossible shape"},
        {OpCase("Pad").operand(x).constant(ints({0, 0, 1LL << 50, 0, 0, 0, 0, 0})), "out of range"},
        {OpCase("ReduceSum").operand(x).constant(ints({4})), "axis 4 is outside"},
        {OpCase("Softmax").operand(zeros({})), "axis -1 is outside"},
        {OpCase("MaxPool").operand(x), "attribute 'kernel_shape' is missing"},
        {OpCase("MaxPool").with("kernel_shape", Ints{}).operand(x), "the kernel has 0 axes"},
        {OpCase("MaxPool").with("kernel_shape", Ints{2, 2}).operand(x.to(DType::Int64)), "operand 0 is int64"},
        {OpCase("MaxPool").with("kernel_shape", Ints{2, 2}).with("pads", Ints{2, 0, 0, 0}).operand(x),
         "must be smaller than the window"},
        {OpCase("AveragePool").with("kernel_shape", Ints{6, 1}).operand(x), "a window spans 6 positions"},
        {OpCase("GlobalAveragePool").operand(zeros({2, 3})), "at least one more"},
        {OpCase("GlobalMaxPool").operand(zeros({2, 3, 0})), "is not defined"},
        {OpCase("BatchNormalization")
             .operand(x)
             .constant(zeros({3}))
             .constant(zeros({3}))
             .constant(zeros({3}))
             .operand(zeros({2})),
         "variance (operand 4) must have the shape [3]"},
        {OpCase("Dropout").operand(x).constant(zeros({})).constant(Tensor::full(DType::Bool, {}, 1)), "training mode"},
        {OpCase("Clip").operand(x).operand(zeros({2})), "min must be one number"},
        {OpCase("Clip").operand(x).operand(ints({1})), "min is int64, but the operand is float32"},
        {OpCase("PRelu").operand(x).constant(zeros({2, 1, 1, 1})), "does not broadcast"},
        {OpCase("Relu").operand(ints({1})), "integers are for opset 14"},
        {OpCase("Relu").operand(x).outputs(2), "2 outputs"},
        {OpCase("Gather").operand(x).constant(ints({1})), "index 1 is outside an extent of 1"},
        {OpCase("Gather").operand(x).operand(x), "indices must be int32 or int64"},
        {OpCase("Slice").operand(x).constant(ints({0})).constant(ints({1, 2})), "starts, ends, axes and steps"},
        {OpCase("Slice").operand(x).constant(ints({0})).constant(ints({1})).constant(ints({0})).constant(ints({0})),
         "a step is 0"},
        {OpCase("Cast").with("to", std::int64_t{8}).operand(x), "element type 8 is not supported"},
        {OpCase("ConstantOfShape").constant(ints({-1})), "impossible shape"},
        {OpCase("ConstantOfShape").with("value", ints({1, 2})).constant(ints({1})), "value has 2 elements"},
        {OpCase("And", 6).operand(x).operand(x), "not implemented at opset 6, only at 7 to"},
        {OpCase("Sorcery").operand(x), "operator Sorcery (domain ai.onnx, opset 13) is not implemented"},
        {OpCase("Relu", 13, "com.example").operand(x), "domain com.example"},
    };
}

/// An LSTM of two steps with these activations.
OpCase lstmWith(std::vector<std::string> activations)
{
    OpCase c("LSTM");
    c.operand(zeros({2, 1, 3})).operand(zeros({1, 8, 3})).operand(zeros({1, 8, 2}));
    return c.with("hidden_size", std::int64_t{2}).with("activations", std::move(activations));
}

std::vector<Refusal> refusalsOfShapes()
{
    const Tensor x = zeros({1, 3, 5, 5});
    const Tensor flags = Tensor::full(DType::Bool, {5}, 1);
    const std::string left = "LEFT";
    return {
        {lstmWith({"Foo"}), "activations has 1 names, but 3 are needed"},
        {lstmWith({"Sigmoid", "Tanh", "Foo"}), "activation 'Foo' is unknown"},
        {lstmWith({"Sigmoid", "Tanh", "Tanh", "Tanh"}), "activations has 4 names, but 3 are needed"},
        {OpCase("Where").operand(x).operand(x).operand(x), "the condition (operand 0) must be bool"},
        {OpCase("Where").operand(flags).operand(x).operand(ints({1})), "operand 2 is int64, but operand 1 is float32"},
        {OpCase("Expand").operand(x).constant(ints({2, 2})), "do not broadcast"},
        {OpCase("Expand").operand(x).operand(ints({5})), "must be known before the run"},
        {OpCase("Tile").operand(x).constant(ints({1})), "repeats has 1 entries for 4 axes"},
        {OpCase("Tile").operand(x).constant(ints({1, 1, 1, 1LL << 40})), "out of range"},
        {OpCase("Tile").operand(x).constant(ints({1, 1, 1LL << 30, 1LL << 30})), "more than"},
        {OpCase("TopK").operand(x).constant(ints({6})).outputs(2), "k is 6, but the axis has 5 elements"},
        {OpCase("Range").constant(ints({0})).constant(ints({5})).constant(ints({0})), "the range has no end"},
        {OpCase("Range").constant(ints({0})).constant(ints({5, 6})).constant(ints({1})),
         "operand 1 must be one number"},
        {OpCase("OneHot").operand(ints({1})).constant(ints({-2})).constant(zeros({2})),
         "the depth (operand 1) is -2, but must be a number from 1"},
        {OpCase("OneHot").operand(ints({1})).constant(ints({2})).constant(zeros({3})), "must be [off, on]"},
        {OpCase("Trilu", 14).operand(zeros({3})), "must be a matrix"},
        {OpCase("EyeLike").operand(x), "must be a matrix"},
        {OpCase("EyeLike").with("dtype", std::int64_t{8}).operand(zeros({2, 2})), "element type 8 is not supported"},
        {OpCase("DepthToSpace").with("blocksize", std::int64_t{2}).operand(x),
         "3 channels do not divide into blocks of 4"},
        {OpCase("DepthToSpace").with("blocksize", std::int64_t{0}).operand(x), "blocksize 0 is out of range"},
        {OpCase("SpaceToDepth").with("blocksize", std::int64_t{2}).operand(x),
         "5 × 5 does not divide into blocks of 2"},
        {OpCase("ReverseSequence").operand(zeros({4, 2})).operand(ints({1})), "sequence_lens must have the shape [2]"},
        {OpCase("Compress").operand(x).constant(Tensor::full(DType::Bool, {80}, 1)), "the condition holds at 79"},
        {OpCase("Compress").operand(x).operand(flags), "must be known before the run"},
        {OpCase("GatherND").operand(x).operand(ints({0, 0, 0, 0, 0})), "index tuples have 5 entries for 4 axes"},
        {OpCase("GatherND").with("batch_dims", std::int64_t{1}).operand(x).operand(ints({0})),
         "1 batch axes do not fit"},
        {OpCase("GatherElements").operand(x).operand(ints({0})), "do not fit an operand of shape"},
        {OpCase("ScatterElements").operand(zeros({3})).operand(ints({0})).operand(zeros({2})), "must have one shape"},
        {OpCase("ScatterElements").operand(zeros({3})).constant(ints({3})).operand(zeros({1})), "index 3 is outside"},
        {OpCase("ScatterElements", 16)
             .with("reduction", std::string("max"))
             .operand(zeros({3}))
             .operand(ints({0}))
             .operand(zeros({1})),
         "reduction 'max' is not known at this opset"},
        {OpCase("ScatterND").operand(zeros({3})).operand(ints({0})).operand(zeros({2})),
         "the updates must have the shape"},
        {OpCase("TensorScatter", 24).operand(zeros({2, 3, 4})).operand(zeros({2, 3, 3})),
         "the update must have the type"},
        {OpCase("BitShift").with("direction", std::string("UP")).operand(ints({1})).operand(ints({1})),
         "direction is 'UP'"},
        {OpCase("BitShift").with("direction", left).operand(zeros({1})).operand(zeros({1})), "must be an integer type"},
        {OpCase("And").operand(ints({1})).operand(ints({1})), "operand 0 is int64, but must be bool"},
        {OpCase("Less").operand(flags).operand(flags), "operand 0 is bool, but must be a number"},
        {OpCase("Gelu", 20).with("approximate", std::string("fast")).operand(x), "approximate is 'fast'"},
        {OpCase("CumSum").operand(x).constant(ints({0, 1})), "the axis (operand 1) must be one number"},
        {OpCase("CumSum").operand(x).constant(ints({4})), "axis 4 is outside"},
        {OpCase("ReduceMax", 18).operand(flags), "the operand is bool"},
        {OpCase("ArgMax").operand(zeros({0})), "the axis has no elements"},
        {OpCase("Det").operand(zeros({2, 3})), "must be a square matrix"},
        {OpCase("Einsum").with("equation", std::string("ij,jk")).operand(x), "the equation has 2 terms for 1 operands"},
        {OpCase("Einsum").with("equation", std::string("ij->ij")).operand(x), "names 2 axes of an operand of rank 4"},
        {OpCase("Einsum").with("equation", std::string("ii->i")).operand(zeros({2, 3})), "extents 2 and 3"},
        {OpCase("Einsum").with("equation", std::string("ij->k")).operand(zeros({2, 3})), "one that no operand has"},
        {OpCase("Einsum").with("equation", std::string("i1->i")).operand(zeros({2, 3})), "contains '1'"},
        {OpCase("Add", 6).operand(x).operand(zeros({5})), "needs broadcast = 1"},
        {OpCase("Concat").with("axis", std::int64_t{0}).operand(zeros({})), "axis 0 is outside"},
    };
}

/// What ONNX Runtime refuses, too, though it could be computed.
std::vector<Refusal> refusalsOfValues()
{
    const Tensor x = zeros({1, 3, 5, 5});
    const Tensor w = zeros({4, 3, 3, 3});
    const auto two = std::int64_t{2};
    const Tensor nan = Tensor::scalar(std::numeric_limits<float>::quiet_NaN());
    const OpCase lstm = OpCase("LSTM", 14).operand(zeros({3, 1, 2})).constant(zeros({1, 16, 2}));
    const OpCase boxes = OpCase("NonMaxSuppression").constant(zeros({1, 5, 4})).constant(zeros({1, 1, 5}));
    const OpCase support = OpCase("SVMRegressor", 1, "ai.onnx.ml")
                               .with("coefficients", std::vector<double>{1, -1})
                               .with("support_vectors", std::vector<double>{1, 2, 3, 4, 5, 6})
                               .with("rho", std::vector<double>{0.5});
    const Tensor q = zeros({1, 2, 3, 4});
    return {
        {OpCase(lstm).constant(zeros({1, 16, 4})).with("layout", two), "attribute 'layout' is 2, but must be 0 or 1"},
        {OpCase("Conv").with("auto_pad", std::string("VALID")).with("pads", Ints(4, 0)).operand(x).constant(w),
         "attribute 'pads' is given together with auto_pad 'VALID'"},
        {OpCase("ConvTranspose")
             .with("auto_pad", std::string("SAME_UPPER"))
             .with("pads", Ints(4, 1))
             .operand(x)
             .constant(zeros({3, 2, 3, 3})),
         "attribute 'pads' is given together with auto_pad 'SAME_UPPER'"},
        {OpCase("MaxPool").with("kernel_shape", Ints{2, 2}).with("storage_order", std::int64_t{3}).operand(x),
         "attribute 'storage_order' is 3, but must be 0 or 1"},
        {OpCase("Upsample", 9).operand(x).constant(Tensor::of<float>({4}, std::vector<float>{1, 1, 0.5, 2})),
         "the scale 0.5 is below 1"},
        {OpCase("Upsample", 7).with("scales", std::vector<double>{1, 1, 0.5, 2}).operand(x),
         "the scale 0.5 is below 1"},
        {OpCase("Slice").operand(x).constant(ints({0, 1})).constant(ints({1, 2})).constant(ints({1, -3})),
         "an axis is named twice"},
        {OpCase("Resize", 18)
             .with("axes", Ints{2, 2})
             .operand(x)
             .absent()
             .constant(Tensor::full(DType::Float32, {2}, 2)),
         "an axis is named twice"},
        {OpCase("Resize", 18)
             .with("antialias", std::int64_t{1})
             .operand(x)
             .absent()
             .absent()
             .constant(ints({1, 2, 3, 4})),
         "antialias needs mode linear or cubic"},
        {OpCase("Resize", 18)
             .with("keep_aspect_ratio_policy", std::string("not_larger"))
             .operand(x)
             .absent()
             .constant(Tensor::full(DType::Float32, {4}, 2)),
         "keep_aspect_ratio_policy is for sizes"},
        {OpCase("Resize", 18).operand(x).absent().absent().constant(ints({1, 2, 0, 4})), "a size is not above 0"},
        {OpCase("Resize", 18).operand(zeros({0, 0})).absent().absent().constant(ints({5, 0})),
         "an operand without elements"},
        {OpCase("Upsample", 9)
             .with("mode", std::string("bilinear"))
             .operand(x)
             .constant(Tensor::full(DType::Float32, {4}, 2)),
         "mode 'bilinear' is unknown"},
        {OpCase("CenterCropPad", 18).with("axes", Ints{1, 1}).operand(x).constant(ints({2, 2})),
         "an axis is named twice"},
        {OpCase("ReduceMax", 18).operand(x).constant(Tensor::scalar(std::int64_t{1})),
         "axes (operand 1) must be a list with one axis"},
        {OpCase("Squeeze").operand(x).constant(Tensor::scalar(std::int64_t{0})),
         "axes (operand 1) must be a list with one axis"},
        {OpCase("Split", 18).with("num_outputs", two).operand(zeros({3})).constant(ints({1, 2})).outputs(2),
         "each of split (operand 1) and attribute 'num_outputs' is given"},
        {OpCase("Split", 18).operand(zeros({4})).outputs(2), "none of split (operand 1)"},
        {OpCase("ReverseSequence").with("batch_axis", two).operand(zeros({2, 2, 2})).operand(ints({1, 1})),
         "attribute 'batch_axis' is 2, but must be 0 or 1"},
        {OpCase(boxes).constant(ints({3})).constant(Tensor::scalar(1.5F)), "iou_threshold (operand 3) is 1.5"},
        {OpCase(boxes).constant(ints({3})).constant(nan), "iou_threshold (operand 3) is nan"},
        {OpCase("OneHot").operand(ints({0})).constant(nan).constant(zeros({2})), "the depth (operand 1) is nan"},
        {OpCase("OneHot").operand(ints({0})).constant(Tensor::scalar(std::int64_t{0})).constant(zeros({2})),
         "the depth (operand 1) is 0, but must be a number from 1"},
        {OpCase(support).with("n_supports", std::int64_t{3}).operand(zeros({2, 3})),
         "n_supports is 3, but support_vectors has 2 rows of 3 features"},
        {OpCase(support).with("n_supports", std::int64_t{1} << 62).operand(zeros({2, 3})),
         "support_vectors has 2 rows"},
        {OpCase("Attention", 23).with("is_causal", std::int64_t{5}).operand(q).operand(q).operand(q),
         "attribute 'is_causal' is 5, but must be 0 or 1"},
    };
}

} // namespace

class RefusalTest : public QObject
{
    Q_OBJECT
private slots:
    void refusesByName()
    {
        std::vector<Refusal> all = refusals();
        for (Refusal& more : refusalsOfShapes()) {
            all.push_back(std::move(more));
        }
        for (Refusal& more : refusalsOfValues()) {
            all.push_back(std::move(more));
        }
        for (Refusal& refusal : all) {
            const std::string text = refusal.node.refusal();
            QVERIFY2(text.find(refusal.says) != std::string::npos, (text + " does not say: " + refusal.says).c_str());
            QVERIFY2(text.find("node 'n' (") == 0, text.c_str());
        }
    }

    void namesNodeOperatorOpsetAndShapes()
    {
        OpCase c("Clip", 12);
        c.operand(zeros({2, 3})).absent().operand(zeros({3}));
        QCOMPARE(QString::fromStdString(c.refusal()),
                 "node 'n' (Clip, opset 12): operand shapes [2 × 3], [absent], [3]: max must be one number");
        OpCase own("Unbind", 1, "ai.retrograde");
        QVERIFY(own.operand(zeros({})).refusal().find("(ai.retrograde.Unbind, opset 1)") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(RefusalTest)
#include "refusaltest.moc"
