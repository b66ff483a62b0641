// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/otherrun.h"

#include "views/common/numbertext.h"
#include "views/heatmap/heatmaptranslation.h"

#include <utility>

namespace retro::views
{

namespace
{

/// The values of both, for a scale that fits both.
std::vector<double> valuesOf(const Plane& one, const Plane& other)
{
    std::vector<double> all = one.values;
    all.insert(all.end(), other.values.begin(), other.values.end());
    return all;
}

/// One scale for both halves.
Scale scaleOfBoth(const HeatmapContent& here, const HeatmapContent& other, const HeatmapSettings& settings)
{
    Scale both = symmetricScale(valuesOf(here.plane, other.plane), settings.percentile);
    both.gamma = settings.gamma;
    both.notANumber = here.isPicture ? both.notANumber : 0; // the lines between slices
    return both;
}

} // namespace

OtherRun::OtherRun(RunHandle handle, InputInfo input, QString name)
    : m_run(handle.run), m_model(m_cursor), m_name(std::move(name))
{
    // Several heatmaps may be given one handle, and each walks in time by itself.
    handle.timeline = std::make_shared<trace::Timeline>(*handle.timeline);
    m_model.setRun(std::move(handle), std::move(input), true);
}

QString OtherRun::wipe(HeatmapFigure& figure, const RunModel& here, const HeatmapContent& content,
                       const HeatmapSettings& settings, double place) const
{
    if (content.isSteps) {
        return heatmapText("A row of steps is not wiped: its cells have no common line.");
    }
    const QString label = here.label(content.value);
    const auto value = m_model.graph().findValue(label.toStdString());
    if (!value) {
        return heatmapText("%1 has no value %2.").arg(m_name, label);
    }
    const HeatmapContent other = heatmapContent(m_model, *value);
    if (!other.relevance.isValid()) {
        return other.reason;
    }
    if (other.plane.width != content.plane.width || other.plane.height != content.plane.height) {
        return heatmapText("%1 has other sizes at %2: %3, not %4.")
            .arg(m_name, label, m_model.shapeText(*value), here.shapeText(content.value));
    }
    HeatmapFigure drawn = heatmapFigure(m_model, other, settings);
    if (drawn.plane.width != figure.plane.width || drawn.plane.height != figure.plane.height) {
        drawn.plane = enlargedPlane(other.plane, figure.plane.width, figure.plane.height, figure.isSmooth);
    }
    if (!settings.keptLimit) {
        figure.bar.scale = scaleOfBoth(content, other, settings);
    }
    if (targetName(m_model) != targetName(here)) {
        // One bar for both halves; the names over them say for what each speaks.
        figure.bar.upperWord = heatmapText("for");
    }
    figure.wipe = HeatmapWipe{std::move(drawn.plane), drawn.picture, m_name, place, shortNameOf(here)};
    figure.texts["scale"] = valueText(figure.bar.scale.limit, 6).toStdString();
    figure.texts["other run"] = m_name.toStdString();
    return {};
}

QString shortNameOf(const RunModel& model)
{
    const QString target = targetName(model);
    const QString composite = QString::fromStdString(model.run().facts.composite);
    return target.isEmpty() || composite.isEmpty() ? target + composite : heatmapText("%1, %2").arg(target, composite);
}

} // namespace retro::views
