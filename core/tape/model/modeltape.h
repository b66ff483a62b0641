// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"
#include "core/tape/loops.h"
#include "core/tape/operator.h"
#include "core/tensor/tensor.h"

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace retro::tape
{

/// A value of a tape over real tensors: the one tensor of a leaf or of a node's result, or all results of a node with
/// several. In a slot an invalid tensor stands for zeros.
struct Bundle
{
    std::vector<tensor::Tensor> tensors;

    Bundle() = default;
    explicit Bundle(tensor::Tensor tensor) { tensors.push_back(std::move(tensor)); }
    explicit Bundle(std::vector<tensor::Tensor> all) : tensors(std::move(all)) {}

    [[nodiscard]] const tensor::Tensor& only() const { return tensors.front(); }
    /// Equal shapes and elements by value: −0 equals 0, NaN equals nothing, an invalid tensor equals zeros.
    [[nodiscard]] bool operator==(const Bundle& other) const;
    /// Equal shapes and bits of every element; an invalid tensor is only equal to another one.
    [[nodiscard]] bool bitEqual(const Bundle& other) const;
};

template <>
struct ValueTraits<Bundle>
{
    /// Equal shapes.
    static bool sameShape(const Bundle& a, const Bundle& b);
    /// For messages.
    static std::string shapeText(const Bundle& a);
    /// Tensor by tensor; an invalid one adds nothing.
    static Bundle add(const Bundle& accumulator, const Bundle& part);
    /// Zeros of the shapes; invalid for what is neither float32 nor float64.
    static Bundle zeroLike(const Bundle& a);
};

using execute::BoundModel;
using graph::NodeId;
using graph::ValueId;

/// A node of a model as its reverse rule sees it, operands by slot of the graph.
struct ModelSite
{
    NodeId node;
    std::span<const tensor::Tensor> operands; ///< constants included; invalid where absent
    std::span<const tensor::Tensor> outputs;  ///< forward results
    std::span<const tensor::Tensor> upstream; ///< per output; invalid = zeros, at least one is valid
    std::span<const std::uint8_t> wanted;     ///< per operand slot: 1 where a part is wanted
};

/// A reverse rule over real tensors: one tensor per operand slot, valid for every wanted slot. The gradient and every
/// relevance rule are such functors.
using ModelRule = std::function<base::Result<std::vector<tensor::Tensor>>(const ModelSite&)>;

/// A tape of a model for given inputs. Leaves: the graph inputs in order, then the constants that nodes read, by value
/// id. A node with one result is one cell; one with several is a cell that holds them all, followed by one cell per
/// result.
struct ModelTape
{
    std::shared_ptr<const BoundModel> model;
    Tape<Bundle> tape{{}, 0, {}};
    std::vector<Id> idOf;         ///< by ValueId; kNowhere for values that nothing reads or makes
    std::vector<ValueId> valueOf; ///< by Id; invalid for cells that hold several results
    std::vector<NodeId> nodeOf;   ///< by Id; invalid for leaves

    static constexpr Id kNowhere = std::numeric_limits<Id>::max();
    /// The nodes again, for the recursion.
    [[nodiscard]] NodeList<Bundle> nodes() const;
    /// What people call a cell: its value's name, else its node's.
    [[nodiscard]] std::string nameOf(Id id) const;
};

/// Runs the model over `inputs` (of the model's types and shapes) and keeps every value. Tracked cells are those whose
/// values carry a gradient: floating, of an operator that passes one, dependent on a floating input. Errors: Input
/// (data that an operator cannot work with, by node), Cancelled.
[[nodiscard]] base::Result<ModelTape> compileModel(std::shared_ptr<const BoundModel> model,
                                                   std::span<const tensor::Tensor> inputs, ModelRule rule,
                                                   const std::stop_token& stop = {});

/// A tape of the model without its values, for rules that fetch themselves what they read: cells have the types and
/// shapes of their values, and elements that mean nothing. Runs nothing.
[[nodiscard]] ModelTape outlineModel(std::shared_ptr<const BoundModel> model, ModelRule rule,
                                     const std::stop_token& stop = {});

} // namespace retro::tape
