// SPDX-License-Identifier: Apache-2.0
#include "app/common/reportdiagnosis.h"

#include "app/common/reportpage.h"
#include "core/diagnosis/numbertext.h"
#include "views/diagnose/chartdrawing.h"

#include <QBuffer>
#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace retro::app
{

namespace
{

using diagnosis::Finding;

QString chapterText(const char* text) { return QCoreApplication::translate("retro::app::report", text); }

QString utf8(const std::string& text) { return QString::fromStdString(text); }

QString utf8(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

QString figure(double number) { return utf8(diagnosis::numberText(number)); }

bool isSetAside(const ReportedDiagnosis& reported, const Finding& finding)
{
    return reported.notAProblem.contains(finding.id + " " + finding.place.name);
}

QStringList rowOf(const Finding& finding, const QString& level)
{
    const bool hasNumber = !finding.numbers.empty() && std::isfinite(finding.numbers.front().second);
    const QString meaning = utf8(finding.meaning());
    return {level,
            utf8(finding.place.name),
            utf8(finding.what) + (meaning.isEmpty() ? QString() : QStringLiteral(". ") + meaning),
            hasNumber ? figure(finding.numbers.front().second) : QStringLiteral("–"),
            finding.threshold != 0 ? figure(finding.threshold) : QStringLiteral("–"),
            utf8(finding.id)};
}

QList<QStringList> rowsOf(const ReportedDiagnosis& reported)
{
    QList<QStringList> rows;
    QList<QStringList> aside;
    for (const Finding& finding : reported.diagnosis->findings) {
        const bool isAside = isSetAside(reported, finding);
        QList<QStringList>& list = isAside ? aside : rows;
        const QString level = utf8(diagnosis::nameOf(finding.level));
        list << rowOf(finding, isAside ? chapterText("%1, not a problem here").arg(level) : level);
        for (const Finding& below : finding.also) {
            list << rowOf(below, chapterText("follows from it"));
        }
    }
    return rows + aside;
}

QByteArray pngOf(const diagnosis::Chart& chart, views::ThemeKind kind)
{
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    views::imageOfChart(chart, views::Theme::of(kind)).save(&buffer, "PNG");
    return buffer.data();
}

/// What shows the worst findings, drawn.
void addCharts(ReportPage& page, const ReportedDiagnosis& reported)
{
    constexpr int kMostCharts = 8;
    int charts = 0;
    for (const Finding& finding : reported.diagnosis->findings) {
        const bool isDrawn = finding.chart.kind != diagnosis::ChartKind::None && !isSetAside(reported, finding);
        if (isDrawn && charts++ < kMostCharts) {
            page.addPicture(utf8(finding.place.name) + QStringLiteral(": ") + utf8(finding.chart.title),
                            QStringLiteral("image/png"), pngOf(finding.chart, views::ThemeKind::Light),
                            pngOf(finding.chart, views::ThemeKind::Dark));
        }
    }
}

QStringList statisticsRow(const diagnosis::CheckRecord& record)
{
    const bool isMeasured = record.isRun && record.sites > 0;
    return {utf8(record.check->id), isMeasured ? figure(record.largest) : QStringLiteral("–"),
            record.check->threshold != 0 ? figure(record.check->threshold) : QStringLiteral("–"),
            record.isRun ? utf8(record.largestAt) : chapterText("not run: %1").arg(utf8(record.why)),
            utf8(record.check->statistic)};
}

void addStatistics(ReportPage& page, const diagnosis::Diagnosis& found)
{
    QList<QStringList> rows;
    for (const bool isRun : {true, false}) {
        for (const diagnosis::CheckRecord& record : found.checks) {
            if (record.isRun == isRun) {
                rows << statisticsRow(record);
            }
        }
    }
    page.addTable({chapterText("Check"), QLatin1Char('#') + chapterText("Largest"),
                   QLatin1Char('#') + chapterText("Limit"), chapterText("Where"), chapterText("What is measured")},
                  rows);
}

} // namespace

void addDiagnosis(ReportPage& page, const ReportedDiagnosis& reported)
{
    if (!reported.diagnosis) {
        return;
    }
    const diagnosis::Diagnosis& found = *reported.diagnosis;
    page.addHeading(chapterText("Diagnosis"));
    const auto run = static_cast<qulonglong>(found.checksRun());
    const auto all = static_cast<qulonglong>(found.checks.size());
    page.addParagraph(
        found.findings.empty()
            ? chapterText("Nothing suspicious: %1 of %2 checks were run.").arg(run).arg(all)
            : chapterText("%1 findings; %2 of %3 checks were run.").arg(found.findings.size()).arg(run).arg(all));
    if (!found.findings.empty()) {
        page.addTable({chapterText("Level"), chapterText("Where"), chapterText("What, and what to do"),
                       QLatin1Char('#') + chapterText("Number"), QLatin1Char('#') + chapterText("Limit"),
                       chapterText("Check")},
                      rowsOf(reported));
        addCharts(page, reported);
    }
    addStatistics(page, found);
}

QString warningForHeatmap(const ReportedDiagnosis& reported)
{
    if (!reported.diagnosis) {
        return {};
    }
    const auto& findings = reported.diagnosis->findings;
    const auto at = std::ranges::find_if(findings, [&](const Finding& finding) {
        return finding.level == diagnosis::Level::Error && !isSetAside(reported, finding);
    });
    return at == findings.end() ? QString()
                                : chapterText("Do not trust this picture: %1 %2. The chapter Diagnosis says more.")
                                      .arg(utf8(at->place.name), utf8(at->what));
}

} // namespace retro::app
