// SPDX-License-Identifier: Apache-2.0
#include "views/diagnose/diagnosewords.h"

#include "core/base/counted.h"
#include "core/diagnosis/numbertext.h"

#include <QCoreApplication>
#include <QLabel>
#include <QStringList>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace retro::views
{

using diagnosis::Diagnosis;
using diagnosis::Finding;
using diagnosis::Level;

namespace
{

QString paneText(const char* text) { return QCoreApplication::translate("retro::views::DiagnoseView", text); }

bool isOneOfFamilies(const Finding& finding, std::initializer_list<std::string_view> families)
{
    return std::ranges::find(families, finding.family()) != families.end();
}

/// "1 error", "2 errors".
QString counted(std::size_t number, const char* one, const char* many)
{
    return paneText(number == 1 ? one : many).arg(number);
}

/// A share as per cent, other numbers with three digits.
QString numberText(double number, double limit)
{
    const bool isShare = number >= 0 && number <= 1 && limit > 0 && limit <= 1;
    return QString::fromStdString(isShare ? diagnosis::percentText(number) : diagnosis::numberText(number));
}

/// A finding, also one that follows from another.
const Finding* findKey(const std::vector<Finding>& findings, const std::string& key)
{
    for (const Finding& finding : findings) {
        if (keyOf(finding) == key) {
            return &finding;
        }
        if (const Finding* below = findKey(finding.also, key)) {
            return below;
        }
    }
    return nullptr;
}

QString titleOf(const Finding& finding)
{
    return QString::fromStdString(finding.place.name) + QLatin1String(" (") + QString::fromStdString(finding.id) +
           QLatin1Char(')');
}

} // namespace

std::string keyOf(const Finding& finding) { return finding.id + " " + finding.place.name; }

bool passes(const Finding& finding, FindingFilter filter)
{
    const bool isOfRules = isOneOfFamilies(finding, {"rule", "flow", "target", "eval"}) || finding.id == "diff.rule" ||
                           finding.id == "diff.target" || finding.id == "diff.start";
    switch (filter) {
    case FindingFilter::Serious:
        return finding.level != Level::Note;
    case FindingFilter::Model:
        return !isOfRules && finding.family() != "input" && finding.id != "diff.input";
    case FindingFilter::Rules:
        return isOfRules;
    case FindingFilter::All:
        break;
    }
    return true;
}

QString wordOf(Level level)
{
    switch (level) {
    case Level::Error:
        return paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "error"));
    case Level::Difference:
        return paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "differs"));
    case Level::Warning:
        return paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "warning"));
    case Level::Note:
        break;
    }
    return paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "note"));
}

Role roleOf(Level level)
{
    switch (level) {
    case Level::Error:
        return Role::AlarmText;
    case Level::Difference:
        return Role::FulfilText;
    case Level::Warning:
        return Role::SearchText;
    case Level::Note:
        break;
    }
    return Role::Text3;
}

std::optional<double> mainNumber(const Finding& finding)
{
    if (finding.numbers.empty() || !std::isfinite(finding.numbers.front().second)) {
        return std::nullopt;
    }
    return finding.numbers.front().second;
}

QString figuresOf(const diagnosis::Finding& finding)
{
    QStringList figures;
    if (finding.chart.kind == diagnosis::ChartKind::None) {
        for (const auto& [name, number] : finding.numbers) {
            figures << QString::fromStdString(name).replace(QLatin1Char('_'), QLatin1Char(' ')) + QLatin1Char(' ') +
                           QString::fromStdString(diagnosis::numberText(number));
        }
    }
    return figures.join(QStringLiteral(" · "));
}

NumberScale scaleOf(double number, double limit)
{
    const double value = std::abs(number);
    const double bound = std::abs(limit);
    if (value <= 1 && bound <= 1) {
        return {value, bound};
    }
    const double least = std::min(value > 0 ? value : bound, bound > 0 ? bound : value) / 10;
    const double most = std::max(value, bound) * 1.25;
    const auto place = [&](double x) { return x <= least ? 0.0 : std::log(x / least) / std::log(most / least); };
    return {place(value), place(bound)};
}

QString countsText(const DiagnosisState& state)
{
    if (!state.diagnosis) {
        return {};
    }
    QStringList parts;
    for (const Level level : {Level::Error, Level::Difference, Level::Warning, Level::Note}) {
        const auto number = std::ranges::count_if(state.diagnosis->findings, [&](const Finding& finding) {
            return finding.level == level && !state.setAside.contains(keyOf(finding));
        });
        if (number > 0) {
            parts << QString::fromStdString(base::counted(static_cast<std::size_t>(number), nameOf(level)));
        }
    }
    return parts.join(QStringLiteral(", "));
}

QString quietText(const DiagnosisState& state)
{
    if (!state.diagnosis) {
        return {};
    }
    const std::size_t run = state.diagnosis->checksRun();
    return state.diagnosis->hasUnusual()
               ? counted(
                     run,
                     QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "No finding by %1 check; see what is unusual"),
                     QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "No finding by %1 checks; see what is unusual"))
               : counted(run, QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "✓ Nothing suspicious, %1 check"),
                         QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "✓ Nothing suspicious, %1 checks"));
}

QString restText(const DiagnosisState& state)
{
    if (!state.diagnosis) {
        return {};
    }
    std::set<std::string_view> speaking;
    for (const Finding& finding : state.diagnosis->findings) {
        speaking.insert(finding.id);
        for (const Finding& below : finding.also) {
            speaking.insert(below.id);
        }
    }
    const std::size_t run = state.diagnosis->checksRun();
    QStringList parts;
    if (!speaking.empty() && run > speaking.size()) {
        parts << counted(run - speaking.size(),
                         QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "✓ %1 other check silent"),
                         QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "✓ %1 other checks silent"));
    }
    if (const std::size_t left = state.diagnosis->checks.size() - run; left > 0) {
        parts << paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "%1 not run")).arg(left);
    }
    return parts.join(QStringLiteral(", "));
}

QString summaryOf(const DiagnosisState& state)
{
    if (!state.stage.isEmpty()) {
        return state.stage + QStringLiteral(" …");
    }
    if (state.isStale) {
        return paneText(
            QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "Of the run before; the next one is under way"));
    }
    if (!state.diagnosis) {
        return state.refusal.isEmpty()
                   ? paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "Nothing was checked yet"))
                   : state.refusal;
    }
    const QString counts = countsText(state);
    return counts.isEmpty() ? quietText(state) : counts;
}

QString breakable(QString text)
{
    static const QString kSigns = QStringLiteral("/_=,:.;");
    constexpr QChar kBreak(0x200B);
    for (qsizetype i = text.size() - 2; i >= 0; --i) {
        const bool isInside = !text[i + 1].isSpace() && (i == 0 || !text[i - 1].isDigit() || !text[i + 1].isDigit());
        if (kSigns.contains(text[i]) && isInside) {
            text.insert(i + 1, kBreak);
        }
    }
    return text;
}

QLabel* makeBreakableLabel(const QString& text, const QFont& font, QWidget* parent)
{
    auto* label = new QLabel(breakable(text), parent);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setFont(font);
    label->setAccessibleName(text);
    QSizePolicy policy(QSizePolicy::Ignored, QSizePolicy::Minimum);
    policy.setHeightForWidth(true);
    label->setSizePolicy(policy);
    return label;
}

QString spokenText(const Finding& finding)
{
    return wordOf(finding.level) + QStringLiteral(": ") + QString::fromStdString(finding.place.name) +
           QLatin1Char(' ') + QString::fromStdString(finding.what) + QStringLiteral(". ") +
           QString::fromStdString(finding.meaning());
}

QString changeText(const Diagnosis& before, const Diagnosis& after, const std::string& key)
{
    const Finding* was = findKey(before.findings, key);
    if (was == nullptr) {
        return {};
    }
    QStringList parts;
    const Finding* is = findKey(after.findings, key);
    const std::optional<double> old = mainNumber(*was);
    const std::optional<double> now = is != nullptr ? mainNumber(*is) : std::nullopt;
    if (is == nullptr) {
        parts << paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "%1 is gone")).arg(titleOf(*was));
    } else if (old && now && *old != *now) {
        parts << paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "%1: %2 → %3"))
                     .arg(titleOf(*was), numberText(*old, was->threshold), numberText(*now, is->threshold));
    } else {
        parts << paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "%1 is as before")).arg(titleOf(*was));
    }
    std::size_t gone = 0;
    for (const Finding& finding : before.findings) {
        gone += keyOf(finding) != key && findKey(after.findings, keyOf(finding)) == nullptr ? 1U : 0U;
    }
    if (gone > 0) {
        parts << counted(gone, QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "%1 other is gone"),
                         QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "%1 others are gone"));
    }
    for (const Finding& finding : after.findings) {
        if (findKey(before.findings, keyOf(finding)) == nullptr) {
            parts << paneText(QT_TRANSLATE_NOOP("retro::views::DiagnoseView", "new: %1")).arg(titleOf(finding));
        }
    }
    return parts.join(QStringLiteral("; "));
}

} // namespace retro::views
