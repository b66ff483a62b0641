// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <optional>
#include <stop_token>
#include <string>

namespace retro::engine
{

/// The position that a target says, along the last but one axis of three; and the same request for a value that has
/// that row alone.
struct AskedPosition
{
    std::int64_t row = 0;
    TargetRequest target;
};

/// A model that makes only the row of its target that is asked for. The head of a language model is a product with one
/// row per position: of the logits of all positions, an explanation of one word reads those of one. The row is picked
/// in front of the product, so that neither its other rows nor their relevance are computed or held. Which row it is
/// says an input more, the last one: questions about other rows share the model. Relevance of the inputs has the bits
/// of the whole model.
class WantedRow
{
public:
    /// The model and the request with that row alone. None where it cannot be told before the run (a target that does
    /// not say its position), where more than the inputs' relevance is wanted, or where the target is not made row by
    /// row by a product with constant weights and functions of single elements behind it.
    [[nodiscard]] static std::optional<WantedRow> of(const LoadedModel& model, const ExplainRequest& request);

    [[nodiscard]] const LoadedModel& model() const { return m_model; }
    [[nodiscard]] const ExplainRequest& request() const { return m_request; }
    /// The input that says which row it is.
    [[nodiscard]] base::ValueId position() const { return m_position; }
    /// Asks another question about the same target, of any of its rows: request() is that of its row alone. False, and
    /// nothing is changed, where it needs another model.
    [[nodiscard]] bool ask(const LoadedModel& whole, const ExplainRequest& request);
    /// The model with the whole way from the last attention's queries on for that row alone (withRowAlone()), for
    /// request() alone; none where there is nothing to leave out. Costs a binding. Relevance has the same bits.
    [[nodiscard]] std::optional<LoadedModel> narrowed(const std::stop_token& stop);
    /// Says the target's place in the whole value. `result` is of model() and request(); its outputs have that row
    /// alone.
    void restorePlace(ExplainResult& result) const;

private:
    WantedRow() = default;
    void take(const ExplainRequest& request, const AskedPosition& position);

    LoadedModel m_model;
    ExplainRequest m_request;
    std::string m_rows;       ///< name of the value whose rows are positions
    std::int64_t m_row = 0;   ///< of it, that is asked for
    std::int64_t m_count = 0; ///< of its rows, where narrowed() knows it; else 0
    std::size_t m_axis = 0;   ///< of the positions
    base::ValueId m_target;   ///< in the whole model
    base::ValueId m_position;
};

} // namespace retro::engine
