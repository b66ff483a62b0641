// SPDX-License-Identifier: Apache-2.0
#include "core/engine/input/givenshapes.h"

#include "core/graph/placeholder.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace retro::engine
{

namespace
{

using base::Result;
using base::usageError;
using base::ValueId;
using graph::Dimension;

/// Largest input that a shape may ask for, in bytes.
constexpr std::uint64_t kMostGivenBytes = 1ULL << 40U;

/// An extent per axis; none where it is left as it is.
using GivenExtents = std::vector<std::optional<std::int64_t>>;

std::string placeOf(const std::string& text) { return "--shape " + text; }

/// "2x3x?" → {2, 3, none}; nothing when it is something else.
std::optional<GivenExtents> extentsIn(std::string_view text)
{
    GivenExtents extents;
    while (true) {
        const std::size_t end = text.find_first_of("xX,");
        const std::string_view part = text.substr(0, end);
        std::int64_t extent = 0;
        const auto [at, ec] = std::from_chars(part.data(), part.data() + part.size(), extent);
        const bool isNumber = ec == std::errc() && at == part.data() + part.size() && extent >= 1;
        if (!isNumber && part != "?") {
            return std::nullopt;
        }
        extents.push_back(isNumber ? std::optional(extent) : std::nullopt);
        if (end == std::string_view::npos) {
            return extents;
        }
        text.remove_prefix(end + 1);
    }
}

std::string shapeText(const std::vector<Dimension>& shape)
{
    std::string text;
    for (const Dimension& dimension : shape) {
        text += text.empty() ? "" : " × ";
        text += dimension.extent           ? std::to_string(*dimension.extent)
                : dimension.symbol.empty() ? "?"
                                           : dimension.symbol;
    }
    return text.empty() ? "a scalar" : text;
}

bool isFixed(const Dimension& dimension) { return dimension.extent.value_or(0) != 0; }

class Shapes
{
public:
    explicit Shapes(const graph::Graph& graph) : m_graph(graph) {}

    Result<void> add(const std::string& text)
    {
        RETRO_TRY(const ValueId input, inputOf(text));
        const std::size_t equals = text.rfind('=');
        const std::optional<GivenExtents> extents =
            extentsIn(text.substr(equals == std::string::npos ? 0 : equals + 1));
        if (!extents) {
            return usageError("write the extents as whole numbers of at least 1 with x between: NAME=1x3x224x224 (? "
                              "leaves an axis as it is)",
                              placeOf(text));
        }
        if (m_shapes.contains(input)) {
            return usageError("two shapes are given for this input", placeOf(text));
        }
        const graph::Value& value = m_graph.value(input);
        std::vector<Dimension> shape = value.shape.value_or(std::vector<Dimension>(extents->size()));
        if (shape.size() != extents->size()) {
            return usageError(
                fmt::format("the input is {}, but {} extents are given", shapeText(shape), extents->size()),
                placeOf(text));
        }
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            if ((*extents)[axis]) {
                RETRO_CHECK(set(shape[axis], *(*extents)[axis], axis, text));
            }
        }
        RETRO_CHECK(checkSize(shape, value.dtype, text));
        m_shapes[input] = std::move(shape);
        return {};
    }

    /// Axes that share a name with one that was given have its extent.
    std::map<ValueId, std::vector<Dimension>> finished() &&
    {
        for (const ValueId input : m_graph.inputs()) {
            const graph::Value& value = m_graph.value(input);
            if (!value.shape && !m_shapes.contains(input)) {
                continue;
            }
            auto& shape = m_shapes.try_emplace(input, value.shape.value_or(std::vector<Dimension>())).first->second;
            for (Dimension& dimension : shape) {
                const auto known = m_symbols.find(dimension.symbol);
                if (!isFixed(dimension) && known != m_symbols.end()) {
                    dimension.extent = known->second;
                }
            }
        }
        return std::move(m_shapes);
    }

private:
    Result<ValueId> inputOf(const std::string& text) const
    {
        const std::size_t equals = text.rfind('=');
        const std::string name = equals == std::string::npos ? std::string() : text.substr(0, equals);
        std::string names;
        for (const ValueId input : m_graph.inputs()) {
            const bool isOnly = name.empty() && m_graph.inputs().size() == 1;
            if (m_graph.value(input).name == name || isOnly) {
                return input;
            }
            names += (names.empty() ? "" : ", ") + m_graph.value(input).name;
        }
        return usageError(fmt::format("the model has no input of this name; it has {}: write NAME=1x3x224x224",
                                      names.empty() ? "none" : names),
                          placeOf(text));
    }

    Result<void> set(Dimension& dimension, std::int64_t extent, std::size_t axis, const std::string& text)
    {
        if (isFixed(dimension) && *dimension.extent != extent) {
            return usageError(fmt::format("axis {} of the input is {}, which the model fixes; it cannot be {}", axis,
                                          *dimension.extent, extent),
                              placeOf(text));
        }
        if (!graph::isPlaceholder(dimension.symbol)) {
            const std::int64_t known = m_symbols.emplace(dimension.symbol, extent).first->second;
            if (known != extent) {
                return usageError(fmt::format("axis {} is called {}, which is {} already; axes of one name have one "
                                              "extent",
                                              axis, dimension.symbol, known),
                                  placeOf(text));
            }
        }
        dimension.extent = extent;
        return {};
    }

    static Result<void> checkSize(const std::vector<Dimension>& shape, tensor::DType dtype, const std::string& text)
    {
        tensor::Shape extents;
        for (const Dimension& dimension : shape) {
            extents.push_back(dimension.extent.value_or(1));
        }
        const Result<std::uint64_t> bytes = tensor::checkedBytes(extents, dtype, kMostGivenBytes);
        return bytes.ok() ? Result<void>() : usageError(bytes.error().message, placeOf(text));
    }

    const graph::Graph& m_graph;
    std::map<ValueId, std::vector<Dimension>> m_shapes;
    std::map<std::string, std::int64_t> m_symbols;
};

} // namespace

Result<std::map<ValueId, std::vector<Dimension>>> givenShapes(const std::vector<std::string>& texts,
                                                              const graph::Graph& graph)
{
    Shapes shapes(graph);
    for (const std::string& text : texts) {
        RETRO_CHECK(shapes.add(text));
    }
    return std::move(shapes).finished();
}

} // namespace retro::engine
