// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace retro::onnxschema
{
class GraphProto;
class NodeProto;
} // namespace retro::onnxschema

namespace retro::formats
{

inline constexpr const char* kBlockedDomain = "com.microsoft.nchwc";

/// How the weights of a blocked Conv lie.
enum class BlockedWeight : std::uint8_t {
    Both,       ///< filters and channels in blocks: Conv of a blocked operand
    FiltersOnly ///< filters in blocks: Conv of an operand in the layout of the standard, and depthwise Conv
};

/// Which values of a graph lie in blocks, and how many of their channels mean something.
class BlockedChannels
{
public:
    explicit BlockedChannels(const onnxschema::GraphProto& graph);

    /// True for a value whose channels lie in blocks.
    [[nodiscard]] bool isBlocked(const std::string& value) const { return m_class.contains(value); }
    /// How the weights of this Conv of the graph lie.
    [[nodiscard]] BlockedWeight layoutOf(const onnxschema::NodeProto& conv) const;
    /// Channels that mean something; nothing for a value that does not lie in blocks.
    [[nodiscard]] std::optional<std::int64_t> channels(const std::string& value) const;
    /// Says that the value has at least so many, where the graph did not say it.
    void widen(const std::string& value, std::int64_t channels);
    /// True when the graph says it.
    [[nodiscard]] bool isSaid(const std::string& value) const;
    /// Widths of blocks that extents allow: of 8 and 16.
    [[nodiscard]] std::vector<std::int64_t> widths() const;

private:
    void addNode(const onnxschema::NodeProto& node);
    void addBlockedNode(const onnxschema::NodeProto& node);
    void addReorderOutput(const onnxschema::NodeProto& node);
    void addReorderInput(const onnxschema::NodeProto& node);
    void addBlockedConv(const onnxschema::NodeProto& node);
    void addConcat(const onnxschema::NodeProto& node);
    void join(const std::string& a, const std::string& b);
    [[nodiscard]] std::size_t rootOf(const std::string& value) const;
    std::size_t classOf(const std::string& value);
    void say(const std::string& value, std::int64_t channels);
    void takeEvidence(const onnxschema::NodeProto& conv);

    const onnxschema::GraphProto& m_graph;
    std::unordered_map<std::string, std::size_t> m_class;
    mutable std::vector<std::size_t> m_parent;
    std::vector<std::optional<std::int64_t>> m_said;
    std::vector<std::int64_t> m_least;
    std::unordered_map<std::string, std::vector<std::int64_t>> m_extents; ///< of initializers
    std::unordered_map<std::string, std::int64_t> m_declared;             ///< axis 1 of values of the standard's layout
    std::unordered_map<std::string, std::int64_t> m_made;                 ///< channels that a Conv makes, filled up
    bool m_fitsEight = true;
    bool m_fitsSixteen = true;
};

/// Width that onnxruntime uses on this machine.
[[nodiscard]] std::int64_t blockWidthHere();

/// Weights in the order of the standard, with filters and channels that fill blocks up. `blocked` has the extents
/// filters × channels (per group) × window. Errors (Input): extents that are no multiples of the width.
[[nodiscard]] base::Result<tensor::Tensor> unblockedWeight(const tensor::Tensor& blocked, BlockedWeight layout,
                                                           std::int64_t width);
/// Last index along `axis` (0 or 1) with an element that is not 0, plus one.
[[nodiscard]] std::int64_t usedExtent(const tensor::Tensor& weight, std::size_t axis);
/// The first `filters` × `channels` of a weight.
[[nodiscard]] tensor::Tensor firstChannels(const tensor::Tensor& weight, std::int64_t filters, std::int64_t channels);

} // namespace retro::formats
