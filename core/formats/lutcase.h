// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "kernels/lut/layer.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace retro::formats
{

/// A LUT layer with an input, and what a pass over it should give (docs/formats/lut.md).
struct LutCase
{
    std::string name;
    std::string where; ///< file, for messages
    lut::LayerShape shape;
    bool isSparse = false;
    std::uint64_t batch = 0;
    std::vector<lut::Anchor> anchors;          ///< [T, C]
    std::vector<double> input;                 ///< [B, I] or [B, S, I]
    std::vector<double> codes;                 ///< [S − 1, T, P]
    std::vector<double> weights;               ///< [T, R, O], or one per synapse
    lut::RowType rowType = lut::RowType::Real; ///< how the weights are stored
    std::vector<std::uint64_t> rowStarts;      ///< sparse
    std::vector<std::uint32_t> columns;        ///< sparse
    std::vector<double> outputGradients;       ///< empty = forward only
    double epsilon = 1e-6;                     ///< of relevance
    /// What to compare with, flat, by field: "forward.output", "backward.dx", "events_main".
    std::map<std::string, std::vector<double>> expected;
};

/// Reads a case. Sizes of arrays are checked when the layer is made. Errors (Input): no JSON, a field that is missing
/// or of a wrong kind, each with its line.
[[nodiscard]] base::Result<LutCase> parseLutCase(std::string text, const std::string& where);

/// As parseLutCase, from a file of at most 256 MiB.
[[nodiscard]] base::Result<LutCase> readLutCase(const std::filesystem::path& path);

/// Bits of the weights of a case whose rows have 16: each number as a float32, then the nearest of the rows' type, even
/// ones at a tie. Empty for others.
[[nodiscard]] std::vector<std::uint16_t> narrowWeights(const LutCase& given);

/// A case and its numbers in the type that a pass computes with; the layer borrows them.
template <class T>
class LutCaseLayer
{
public:
    explicit LutCaseLayer(const LutCase& given)
        : m_case(given), m_input(given.input.begin(), given.input.end()),
          m_codes(given.codes.begin(), given.codes.end()), m_narrow(narrowWeights(given)),
          m_gradients(given.outputGradients.begin(), given.outputGradients.end())
    {
        if (given.rowType == lut::RowType::Real) {
            m_weights.assign(given.weights.begin(), given.weights.end());
        }
    }
    LutCaseLayer(const LutCaseLayer&) = delete;
    LutCaseLayer& operator=(const LutCaseLayer&) = delete;

    /// Makes the layer. Error (Input): what the layer's own checks say.
    [[nodiscard]] base::Result<lut::Layer<T>> layer() const
    {
        lut::LayerDescription<T> description;
        description.shape = m_case.shape;
        description.anchors = m_case.anchors;
        description.weights = m_weights;
        description.rowType = m_case.rowType;
        description.narrowWeights = m_narrow;
        description.isSparse = m_case.isSparse;
        description.rowStarts = m_case.rowStarts;
        description.columns = m_case.columns;
        description.codes = m_codes;
        std::optional<lut::Layer<T>> made;
        if (const lut::Status status = lut::Layer<T>::create(description, made); !status.ok()) {
            return base::inputError(status.message, m_case.where);
        }
        return *made;
    }
    [[nodiscard]] const std::vector<T>& input() const { return m_input; }
    [[nodiscard]] const std::vector<T>& outputGradients() const { return m_gradients; }

private:
    const LutCase& m_case;
    std::vector<T> m_input;
    std::vector<T> m_codes;
    std::vector<T> m_weights;
    std::vector<std::uint16_t> m_narrow;
    std::vector<T> m_gradients;
};

} // namespace retro::formats
