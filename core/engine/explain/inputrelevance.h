// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/execute/forward.h"
#include "core/execute/rebuildingstore.h"
#include "core/lrp/program/programrunner.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

namespace retro::engine
{

/// A forward pass and the relevance pass of a program over it, in which every value lives until its last reader.
class InputPass
{
public:
    /// `runner` must outlive this.
    explicit InputPass(lrp::ProgramRunner& runner) : m_runner(runner) {}

    /// Keeps what the program reads, and `targets`; where that is much, what is cheap to compute again is not kept,
    /// nor, of one sample, are results of products (execute::RebuildingStore). `keeps`: they are there for further
    /// passes, and `alsoKept` with them. Errors: as execute::forward.
    [[nodiscard]] base::Result<execute::ForwardResult>
    forward(const std::shared_ptr<const execute::BoundModel>& model, std::span<const tensor::Tensor> inputs,
            std::span<const base::ValueId> targets, const std::stop_token& stop, const execute::Progress& progress,
            bool keeps = false, std::span<const base::ValueId> alsoKept = {});
    /// What forward() left for other passes: its values as they were. Null before forward().
    [[nodiscard]] const std::shared_ptr<const execute::RebuildingStore>& keptStore() const { return m_kept; }
    /// In place of forward(): goes on from what an earlier forward pass left, which stays as it is.
    [[nodiscard]] execute::ForwardResult resume(const execute::ForwardResult& forward,
                                                std::shared_ptr<const execute::RebuildingStore> kept);
    /// In place of forward(): of an earlier forward pass and its `outputs`, which differs in the input `changed` alone,
    /// what does not follow from it; the rest is computed. None where that pass did not keep what is needed. Errors: as
    /// forward().
    [[nodiscard]] base::Result<std::optional<execute::ForwardResult>>
    forwardBeside(const std::shared_ptr<const execute::BoundModel>& model, std::span<const tensor::Tensor> inputs,
                  std::span<const base::ValueId> targets, const execute::RebuildingStore& other,
                  std::span<const tensor::Tensor> outputs, base::ValueId changed, const std::stop_token& stop);
    /// Fills relevance (of graph inputs) and ledger of the result. After forward(), once. Errors: Cancelled.
    [[nodiscard]] base::Result<void> run(const execute::SavedValues& saved, std::span<const tensor::Tensor> starts,
                                         const std::stop_token& stop,
                                         const std::function<void(std::size_t, std::size_t)>& progress,
                                         ExplainResult& result);

    /// What forward() keeps: a store that is still empty.
    [[nodiscard]] static std::shared_ptr<execute::RebuildingStore>
    emptyStore(const std::shared_ptr<const execute::BoundModel>& model, const lrp::ProgramRunner& runner,
               std::span<const base::ValueId> asIs);

private:
    lrp::ProgramRunner& m_runner;
    std::shared_ptr<execute::RebuildingStore> m_store; ///< that the pass reads and empties
    std::shared_ptr<const execute::RebuildingStore> m_kept;
};

/// Keeps what arrived at output `k` of a node, where that is a value of the graph; relevance has an entry per value.
void keepRelevance(base::NodeId node, std::size_t k, const tensor::Tensor& relevance, ExplainResult& result);

/// Takes the relevance of a whole pass, by node and output.
void takeTable(const lrp::RelevanceTable& table, ExplainResult& result);

/// Lets go the relevance of what is no graph input where that is all that is wanted, and no run has it.
void dropUnwanted(const ExplainRequest& request, ExplainResult& result);

/// What is wanted of gradients: the relevance of each input times the input (Composite::timesInput).
void multiplyByInputs(const ExplainRequest& request, ExplainResult& result);

/// Total relevance of the graph's inputs.
[[nodiscard]] double relevanceOfInputs(const ExplainResult& result);

} // namespace retro::engine
