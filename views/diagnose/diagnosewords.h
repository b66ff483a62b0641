// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/diagnose/diagnosisstate.h"

#include <QString>

#include <cstdint>
#include <optional>

class QFont;
class QLabel;
class QWidget;

namespace retro::views
{

/// Which findings are listed.
enum class FindingFilter : std::uint8_t {
    All,
    Serious, ///< no notes
    Model,   ///< of the file and its forward values
    Rules    ///< of the rules and of what they do to the relevance
};
[[nodiscard]] bool passes(const diagnosis::Finding& finding, FindingFilter filter);

/// "error", "warning", "differs", "note".
[[nodiscard]] QString wordOf(diagnosis::Level level);
/// Colour of the mark and of the word of a level.
[[nodiscard]] Role roleOf(diagnosis::Level level);

/// The number of a finding that its limit is for: the first; none where there is none or it is not finite.
[[nodiscard]] std::optional<double> mainNumber(const diagnosis::Finding& finding);
/// The numbers of a finding that has neither a limit nor a chart: "alpha minus beta 2"; empty where there is more.
[[nodiscard]] QString figuresOf(const diagnosis::Finding& finding);
/// Where a number stands on a scale from 0 to 1 that has its limit at `limitAt`.
struct NumberScale
{
    double at = 0;
    double limitAt = 0;
};
/// Shares stand on a scale of 0 to 1, all else on a logarithmic one with a decade below the smaller of the two.
[[nodiscard]] NumberScale scaleOf(double number, double limit);

/// "2 errors, 1 warning, 2 notes": without those that are no problem here; empty when there are none.
[[nodiscard]] QString countsText(const DiagnosisState& state);
/// What the pane says when nothing was found: "✓ Nothing suspicious, 38 checks".
[[nodiscard]] QString quietText(const DiagnosisState& state);
/// What became of all other checks: "✓ 35 other checks silent, 3 not run".
[[nodiscard]] QString restText(const DiagnosisState& state);
/// What the pane says above the list.
[[nodiscard]] QString summaryOf(const DiagnosisState& state);
/// A text that may be broken behind the signs inside names.
[[nodiscard]] QString breakable(QString text);
/// A label of such a text, on as many lines as its width asks for.
[[nodiscard]] QLabel* makeBreakableLabel(const QString& text, const QFont& font, QWidget* parent);
/// What a screen reader says of a finding: level, place, sentence, meaning.
[[nodiscard]] QString spokenText(const diagnosis::Finding& finding);

/// What a change did to the findings: one that is gone, whose number is another one, or that is new. `key` is that of
/// the finding that the change was for.
[[nodiscard]] QString changeText(const diagnosis::Diagnosis& before, const diagnosis::Diagnosis& after,
                                 const std::string& key);

} // namespace retro::views
