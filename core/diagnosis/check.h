// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"
#include "core/diagnosis/finding.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace retro::diagnosis
{

/// What a check reads. A check that reads what there is not is not run, and the reason is said.
enum class Need : std::uint32_t {
    Nothing = 0,
    Model = 1,        ///< Facts::model(): the graph as its file has it, with weights
    Pass = 2,         ///< the graph that ran, with shapes
    Forward = 4,      ///< forward values of the pass
    Relevance = 8,    ///< relevance, ledger and rules of the pass
    Conserved = 16,   ///< the same of a pass that conserves: no gradient
    Card = 32,        ///< the model's card
    Inputs = 64,      ///< the data of the inputs
    Reference = 128,  ///< something to compare with
    Evaluation = 256, ///< further passes that somebody asked for (--deep)
    Weights = 512,    ///< of the model, every number of its weights: for an explanation only where they are few
    Folder = 1024,    ///< Sources::population: what the model says of many inputs
    Labels = 2048     ///< the same, and which class each of them has
};
[[nodiscard]] constexpr Need operator|(Need a, Need b)
{
    return static_cast<Need>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
/// Whether `one` is among `all`.
[[nodiscard]] constexpr bool has(Need all, Need one)
{
    return (static_cast<std::uint32_t>(all) & static_cast<std::uint32_t>(one)) != 0;
}

/// Why a check does not run that reads the model of a run file.
inline constexpr std::string_view kNoModel = "the model of the run is not found";

/// What one check writes down while it runs.
class Probe
{
public:
    explicit Probe(std::string_view id) : m_id(id) {}

    /// A place that the check looked at, and its number: of all, the largest is told.
    void measured(const std::string& place, double statistic);
    /// Something that is found; the check goes on to fill it in. The reference holds until the next one is added.
    Finding& found(Level level, double base, double effect, Place place);
    Finding& error(double effect, Place place) { return found(Level::Error, 3, effect, std::move(place)); }
    Finding& warning(double base, double effect, Place place)
    {
        return found(Level::Warning, base, effect, std::move(place));
    }
    /// As found(), with the level and the base score that notes have.
    Finding& note(double effect, Place place) { return found(Level::Note, 1, effect, std::move(place)); }
    /// As found(), of a difference from a reference.
    Finding& difference(double base, double effect, Place place)
    {
        return found(Level::Difference, base, effect, std::move(place));
    }
    /// The check has nothing to say, because what it reads is not there after all.
    void notRun(std::string why) { m_why = std::move(why); }

    [[nodiscard]] std::vector<Finding>& findings() { return m_findings; }
    [[nodiscard]] const std::string& why() const { return m_why; }
    [[nodiscard]] std::size_t sites() const { return m_sites; }
    [[nodiscard]] double largest() const { return m_largest; }
    [[nodiscard]] const std::string& largestAt() const { return m_largestAt; }

private:
    std::string_view m_id;
    std::vector<Finding> m_findings;
    std::string m_why;
    std::size_t m_sites = 0;
    double m_largest = 0;
    std::string m_largestAt;
};

/// One check: a file of its own under core/diagnosis/checks, and a line in checks.h (docs/extending/check.md).
struct Check
{
    std::string_view id;        ///< "flow.bias"
    std::string_view statistic; ///< what is measured, for people
    double threshold = 0;       ///< from which on something is found; of checks without a number 0
    std::string_view healthy;   ///< the range on healthy models, for people: "0 … 0.43 (trained), 0.50 (random)"
    Need needs = Need::Nothing;
    bool isCheap = true; ///< goes along with every explanation
    void (*run)(const Facts& facts, Probe& probe) = nullptr;
};

} // namespace retro::diagnosis
