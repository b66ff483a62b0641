// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/region/region.h"
#include "core/trace/run.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// An element of a value through which relevance came.
struct HistoryElement
{
    std::vector<std::int64_t> index;
    double relevance = 0; ///< R of the element
    double way = 0;       ///< which part of one unit of relevance there reaches the element that is asked about
    double part = 0;      ///< way · relevance
};

/// A channel, head or position of a value, with what passed it.
struct HistoryChannel
{
    std::int64_t index = 0;
    double part = 0; ///< Σ of its parts that count
};

/// A value on the way from the target to the element, with what passed it.
struct HistoryRow
{
    base::ValueId value;
    base::NodeId node;                    ///< that made the value, and handed its relevance on by `rule`
    double sum = 0;                       ///< Σ of the parts
    double magnitude = 0;                 ///< Σ |part|
    bool isWhole = false;                 ///< all of the element's relevance passed here: no way goes round the value
    std::int64_t elements = 0;            ///< with at least a thousandth of the largest |part|
    std::vector<HistoryElement> largest;  ///< by |part|, descending
    std::optional<std::size_t> axis;      ///< of `channels`: 1, where there is one
    std::vector<HistoryChannel> channels; ///< the largest ones, by |part|, descending
    tensor::Tensor where; ///< of values with four axes: parts that count, summed over batch and channels, H × W, double
    std::string rule;     ///< "epsilon 1e-06"
    std::string formula;  ///< of the rule at this node; empty where there is none
    std::optional<std::uint64_t> step; ///< event at which the relevance of the value was known in full
};

/// One number that the formula of the last step is made of.
struct HistoryNumber
{
    std::string name; ///< "x", "w", "D", "R"
    double value = 0;
};

/// The step that brought a part to the element itself, by one of the nodes that read its value.
struct HistoryLastStep
{
    base::NodeId node;
    std::vector<std::int64_t> from; ///< of the node's result: the element that handed the largest part on
    std::string rule;
    std::string formula;
    std::vector<HistoryNumber> numbers; ///< what the formula has in these places, as far as it is known
    double part = 0;                    ///< what came from there
    double all = 0;                     ///< what came from this node altogether
};

/// How the relevance of one element came to be.
struct History
{
    base::ValueId value;
    std::vector<std::int64_t> index; ///< as asked
    double relevance = 0;            ///< of the element, or Σ of the elements
    double start = 0;                ///< Σ R at the targets
    std::vector<HistoryRow> rows;    ///< from the target down to the value itself
    std::vector<HistoryLastStep> last;
    double apart = 0; ///< largest |Σ part − R| among the rows that are whole, of Σ|part|
    double seconds = 0;
};

/// An element as people write it: VALUE:i,j,…; * stands for all places along an axis, whose relevance is added up.
struct HistoryPlace
{
    static constexpr std::int64_t kAll = -1;
    std::string value;
    std::vector<std::int64_t> index; ///< kAll = all along the axis
};
/// Errors: Usage.
[[nodiscard]] base::Result<HistoryPlace> parseHistoryPlace(const std::string& text);
/// Whether a run has such a value, before anything is opened for it. Errors: Usage (names the inputs).
[[nodiscard]] base::Result<base::ValueId> historyValue(const trace::Run& run, const HistoryPlace& place);

/// A recorded pass whose model is still bound and whose rules are still assigned.
struct HistorySource
{
    std::shared_ptr<const trace::Run> run;
    std::shared_ptr<const execute::BoundModel> model;
    std::shared_ptr<const lrp::RuleAssignment> rules;
};

/// Answers for a recorded run with the model that it is of: the rules and forward values of the run, its relevance. Of
/// several threads that ask at once, one after the other is answered.
class Historian
{
public:
    /// Of a pass that was just made: nothing is bound or prepared again. Errors: Input (the run lacks what is named, a
    /// rule whose way forwards is not known), Cancelled.
    [[nodiscard]] static base::Result<Historian> of(const HistorySource& source, const std::stop_token& stop = {});
    /// Binds the model. Errors: Input (the run lacks what is named, another model, rules that cannot be made again or
    /// whose way forwards is not known), Cancelled.
    [[nodiscard]] static base::Result<Historian> open(const std::shared_ptr<const trace::Run>& run,
                                                      const LoadedModelPointer& model,
                                                      const std::stop_token& stop = {});
    Historian(Historian&&) noexcept;
    Historian& operator=(Historian&&) noexcept;
    ~Historian();

    /// Makes what the first question makes for all that follow, so that the first one takes no longer than they do:
    /// denominators, relevance as the weights lie, memory. Nothing where that would take more than is kept between two
    /// questions, or than memory has room for. A question that comes in between goes on from there. Errors: Cancelled.
    [[nodiscard]] base::Result<void> makeReady(const std::stop_token& stop = {}) const;
    /// The history of one element, with at most `most` elements of each value. Errors: Usage (no such element), Input
    /// (the run did not keep a tensor, by name), Cancelled.
    [[nodiscard]] base::Result<History> of(const HistoryPlace& place, std::size_t most = 5,
                                           const std::stop_token& stop = {}) const;
    /// How much of every element's relevance ends in a region of the inputs. `layout` as a model's card says it
    /// ("NHWC"). Errors: as regionMasks(), Cancelled.
    [[nodiscard]] base::Result<RegionResult> region(const RegionRequest& request, std::string_view layout,
                                                    const std::stop_token& stop = {}) const;
    /// By ValueId: the relevance of the run; invalid where none arrived.
    [[nodiscard]] const std::vector<tensor::Tensor>& relevance() const;

private:
    struct Data;
    explicit Historian(std::unique_ptr<Data> data);
    std::unique_ptr<Data> m_data;
};

} // namespace retro::engine
