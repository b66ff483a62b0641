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

/// A value on the way from the target to the element, with what passed it.
struct HistoryRow
{
    base::ValueId value;
    base::NodeId node;                   ///< that made the value, and handed its relevance on by `rule`
    double sum = 0;                      ///< Σ of the parts
    double magnitude = 0;                ///< Σ |part|
    bool isWhole = false;                ///< all of the element's relevance passed here: no way goes round the value
    std::int64_t elements = 0;           ///< with at least a thousandth of the largest |part|
    std::vector<HistoryElement> largest; ///< by |part|, descending
    std::string rule;                    ///< "epsilon 1e-06"
    std::string formula;                 ///< of the rule at this node; empty where there is none
    std::optional<std::uint64_t> step;   ///< event at which the relevance of the value was known in full
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
    std::vector<std::int64_t> index;
    double relevance = 0;
    double start = 0;             ///< Σ R at the targets
    std::vector<HistoryRow> rows; ///< from the target down to the value itself
    std::vector<HistoryLastStep> last;
    double apart = 0; ///< largest |Σ part − R| among the rows that are whole, of Σ|part|
    double seconds = 0;
};

/// An element as people write it: VALUE:i,j,…
struct HistoryPlace
{
    std::string value;
    std::vector<std::int64_t> index;
};
/// Errors: Usage.
[[nodiscard]] base::Result<HistoryPlace> parseHistoryPlace(const std::string& text);

/// Answers for a recorded run with the model that it is of: the rules and forward values of the run, its relevance.
class Historian
{
public:
    /// Binds the model. Errors: Input (the run lacks what is named, another model, rules that cannot be made again or
    /// whose way forwards is not known), Cancelled.
    [[nodiscard]] static base::Result<Historian> open(const std::shared_ptr<const trace::Run>& run,
                                                      const LoadedModelPointer& model,
                                                      const std::stop_token& stop = {});
    Historian(Historian&&) noexcept;
    Historian& operator=(Historian&&) noexcept;
    ~Historian();

    /// The history of one element, with at most `most` elements of each value. Errors: Usage (no such element), Input
    /// (the run did not keep a tensor, by name), Cancelled.
    [[nodiscard]] base::Result<History> of(const HistoryPlace& place, std::size_t most = 5,
                                           const std::stop_token& stop = {}) const;

private:
    struct Data;
    explicit Historian(std::unique_ptr<Data> data);
    std::unique_ptr<Data> m_data;
};

} // namespace retro::engine
