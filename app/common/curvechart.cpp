// SPDX-License-Identifier: Apache-2.0
#include "app/common/curvechart.h"

#include "app/common/guiapplication.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/run/runtexts.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace retro::app
{

using engine::Evaluation;
using engine::MethodMeasures;
using views::Role;

namespace
{

// Lengths in design pixels.
constexpr double kPanelWidth = 260;
constexpr double kPanelHeight = 170;
constexpr double kGap = 28;
constexpr double kLeft = 64;
constexpr double kTop = 76;
constexpr double kBottom = 52;
constexpr double kRight = 20;
constexpr double kLeastWidth = 640; ///< title and legend stand beside each other's ends
constexpr double kTicks = 4;        ///< about so many
constexpr double kRowGap = 58;      ///< title, legend and labels above the second row

QString words(const char* text) { return QCoreApplication::translate("retro::app", text); }

/// Lowest and highest score of all curves, a little apart.
struct Scale
{
    double low = 0;
    double high = 1;
};

void include(const std::vector<double>& scores, Scale& scale)
{
    for (const double score : scores) {
        scale.low = std::min(scale.low, std::isfinite(score) ? score : scale.low);
        scale.high = std::max(scale.high, std::isfinite(score) ? score : scale.high);
    }
}

Scale scaleOf(const Evaluation& evaluation)
{
    const double first = evaluation.random.scores.empty() ? 0 : evaluation.random.scores.front();
    Scale scale{first, first};
    include(evaluation.random.scores, scale);
    for (const MethodMeasures& method : evaluation.methods) {
        include(method.curves.mostFirst.scores, scale);
        include(method.curves.leastFirst.scores, scale);
    }
    const double margin = scale.high > scale.low ? 0.05 * (scale.high - scale.low) : 1;
    return {scale.low - margin, scale.high + margin};
}

bool hasStages(const Evaluation& evaluation)
{
    return std::ranges::any_of(evaluation.methods, [](const MethodMeasures& one) { return !one.stages.empty(); });
}

/// Correlations, a little apart from the edges.
constexpr Scale kCorrelations{-1.1, 1.1};

/// How alike the attributions are after each stage; first comes the model as it is.
struct Randomised
{
    std::vector<double> shuffled{0}; ///< share of the layers
    std::vector<double> cosine{1};
    std::vector<double> spearman{1};

    explicit Randomised(const std::vector<engine::RandomisationStage>& stages)
    {
        for (const engine::RandomisationStage& stage : stages) {
            shuffled.push_back(static_cast<double>(stage.layers) / static_cast<double>(stages.back().layers));
            cosine.push_back(stage.similarity.cosine);
            spearman.push_back(stage.similarity.spearman);
        }
    }
};

/// 1, 2 or 5 times a power of ten, at least `step`.
double niceStep(double step)
{
    const double power = std::pow(10, std::floor(std::log10(step)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (factor * power >= step) {
            return factor * power;
        }
    }
    return 10 * power;
}

/// One panel: maps shares and scores to its rectangle.
class Panel
{
public:
    Panel(const QRectF& box, const Scale& scale, const std::vector<double>& removed)
        : m_box(box), m_scale(scale), m_removed(removed)
    {}

    [[nodiscard]] double y(double score) const
    {
        return m_box.bottom() - (score - m_scale.low) / (m_scale.high - m_scale.low) * m_box.height();
    }

    [[nodiscard]] QPolygonF line(const std::vector<double>& scores) const
    {
        QPolygonF points;
        for (std::size_t i = 0; i < std::min(scores.size(), m_removed.size()); ++i) {
            points.append({m_box.left() + m_removed[i] * m_box.width(), y(scores[i])});
        }
        return points;
    }

    [[nodiscard]] const QRectF& box() const { return m_box; }
    [[nodiscard]] const Scale& scale() const { return m_scale; }

private:
    QRectF m_box;
    Scale m_scale;
    const std::vector<double>& m_removed;
};

class Chart
{
public:
    Chart(QPainter& painter, const Evaluation& evaluation)
        : m_painter(painter), m_evaluation(evaluation), m_theme(views::Theme::of(views::ThemeKind::Light)),
          m_scale(scaleOf(evaluation))
    {}

    void paint(const QSizeF& size)
    {
        m_painter.setRenderHint(QPainter::Antialiasing);
        m_painter.fillRect(QRectF(QPointF(), size), m_theme[Role::Base]);
        text({kLeft, 24}, Qt::AlignLeft, views::fonts::content(QFont::DemiBold), Role::Text, title());
        paintLegend(46, {{pen(Role::Accent), words("most relevant first")},
                         {pen(Role::Ink), words("least relevant first")},
                         {pen(Role::Text3, Qt::DashLine), words("random order")}});
        const QString units = words("removed, of %1").arg(QString::fromStdString(m_evaluation.units));
        for (std::size_t i = 0; i < m_evaluation.methods.size(); ++i) {
            const MethodMeasures& method = m_evaluation.methods[i];
            const Panel panel(boxOf(i, kTop), m_scale, method.curves.removed);
            paintGrid(panel, i == 0, units);
            paintCurves(panel, method);
        }
        if (hasStages(m_evaluation)) {
            paintRandomisation(kTop + kPanelHeight + kBottom);
        }
    }

private:
    [[nodiscard]] QString title() const
    {
        return words("Score of %1 while parts of the input are removed · %2")
            .arg(QString::fromStdString(m_evaluation.target), QString::fromStdString(m_evaluation.model));
    }

    // `at` lies on the baseline.
    void text(const QPointF& at, Qt::Alignment alignment, const QFont& font, Role role, const QString& string)
    {
        m_painter.setFont(font);
        m_painter.setPen(m_theme[role]);
        const double width = views::fonts::widthOf(font, string);
        const double shift = alignment == Qt::AlignRight ? width : (alignment == Qt::AlignHCenter ? width / 2 : 0);
        m_painter.drawText(QPointF(at.x() - shift, at.y()), string);
    }

    [[nodiscard]] QPen pen(Role role, Qt::PenStyle style = Qt::SolidLine) const
    {
        return QPen(m_theme[role], 1.6, style, Qt::RoundCap, Qt::RoundJoin);
    }

    [[nodiscard]] static QRectF boxOf(std::size_t method, double top)
    {
        return {kLeft + static_cast<double>(method) * (kPanelWidth + kGap), top, kPanelWidth, kPanelHeight};
    }

    void paintLegend(double baseline, const std::vector<std::pair<QPen, QString>>& entries)
    {
        double x = kLeft;
        for (const auto& [line, name] : entries) {
            m_painter.setPen(line);
            m_painter.drawLine(QPointF(x, baseline - 4), QPointF(x + 22, baseline - 4));
            text({x + 28, baseline}, Qt::AlignLeft, views::fonts::label(), Role::Text2, name);
            x += 28 + views::fonts::widthOf(views::fonts::label(), name) + 20;
        }
    }

    /// The second row: how alike the attributions stay.
    void paintRandomisation(double top)
    {
        text({kLeft, top + 8}, Qt::AlignLeft, views::fonts::content(QFont::DemiBold), Role::Text,
             words("Likeness to the attribution of the model as it is"));
        paintLegend(top + 30, {{pen(Role::Accent), words("cosine")}, {pen(Role::Ink), words("rank correlation")}});
        for (std::size_t i = 0; i < m_evaluation.methods.size(); ++i) {
            const Randomised randomised(m_evaluation.methods[i].stages);
            const Panel panel(boxOf(i, top + kRowGap), kCorrelations, randomised.shuffled);
            paintGrid(panel, i == 0, words("layers shuffled, from the output"));
            m_painter.setBrush(Qt::NoBrush);
            m_painter.setPen(pen(Role::Ink));
            m_painter.drawPolyline(panel.line(randomised.spearman));
            m_painter.setPen(pen(Role::Accent));
            m_painter.drawPolyline(panel.line(randomised.cosine));
            paintLabel(panel, m_evaluation.methods[i], words("at the end %1").arg(randomised.cosine.back(), 0, 'g', 3));
        }
    }

    void paintLabel(const Panel& panel, const MethodMeasures& method, const QString& figure)
    {
        const double baseline = panel.box().top() - 10;
        text({panel.box().left(), baseline}, Qt::AlignLeft, views::fonts::label(QFont::DemiBold), Role::Text,
             QString::fromStdString(method.method).replace('_', ' '));
        text({panel.box().right(), baseline}, Qt::AlignRight, views::fonts::smallNumbers(), Role::Text2, figure);
    }

    void paintGrid(const Panel& panel, bool hasFigures, const QString& axis)
    {
        const QRectF& box = panel.box();
        const Scale& scale = panel.scale();
        const double step = niceStep((scale.high - scale.low) / kTicks);
        for (double i = std::ceil(scale.low / step); i * step <= scale.high; ++i) {
            const double score = i * step + 0.0; // no negative zero
            m_painter.setPen(QPen(m_theme[Role::Grid], 1));
            m_painter.drawLine(QPointF(box.left(), panel.y(score)), QPointF(box.right(), panel.y(score)));
            if (hasFigures) {
                text({box.left() - 8, panel.y(score) + 4}, Qt::AlignRight, views::fonts::smallNumbers(), Role::Text3,
                     QString::number(score, 'g', 3));
            }
        }
        for (int i = 0; i <= 2; ++i) {
            constexpr std::array kAlignments{Qt::AlignLeft, Qt::AlignHCenter, Qt::AlignRight};
            text({box.left() + box.width() * i / 2, box.bottom() + 16}, kAlignments[static_cast<std::size_t>(i)],
                 views::fonts::smallNumbers(), Role::Text3, QStringLiteral("%1 %").arg(50 * i));
        }
        text({box.center().x(), box.bottom() + 34}, Qt::AlignHCenter, views::fonts::label(), Role::Text2, axis);
    }

    void paintCurves(const Panel& panel, const MethodMeasures& method)
    {
        const QPolygonF most = panel.line(method.curves.mostFirst.scores);
        const QPolygonF least = panel.line(method.curves.leastFirst.scores);
        QPolygonF between = most;
        std::reverse_copy(least.begin(), least.end(), std::back_inserter(between));
        QColor tint = m_theme[Role::Accent];
        tint.setAlphaF(0.1F);
        m_painter.setPen(Qt::NoPen);
        m_painter.setBrush(tint);
        m_painter.drawPolygon(between);
        m_painter.setBrush(Qt::NoBrush);
        m_painter.setPen(pen(Role::Text3, Qt::DashLine));
        m_painter.drawPolyline(panel.line(m_evaluation.random.scores));
        m_painter.setPen(pen(Role::Ink));
        m_painter.drawPolyline(least);
        m_painter.setPen(pen(Role::Accent));
        m_painter.drawPolyline(most);
        paintLabel(panel, method, words("area between %1").arg(method.curves.between(), 0, 'g', 4));
    }

    QPainter& m_painter;
    const Evaluation& m_evaluation;
    const views::Theme& m_theme;
    Scale m_scale;
};

} // namespace

base::Result<void> writeCurves(const std::filesystem::path& path, const Evaluation& evaluation)
{
    ensureGuiApplication();
    const auto count = static_cast<double>(std::max<std::size_t>(1, evaluation.methods.size()));
    const double width = kLeft + count * kPanelWidth + (count - 1) * kGap + kRight;
    const double rows = kPanelHeight + kBottom + (hasStages(evaluation) ? kRowGap + kPanelHeight + kBottom : 0);
    const QSizeF size(std::max(width, kLeastWidth), kTop + rows);
    const views::PictureTexts texts{{"model", evaluation.model},
                                    {"target", evaluation.target},
                                    {"rules", evaluation.composite},
                                    {"software", views::softwareText()}};
    return views::paintToFile(
        path, size, [&](QPainter& painter) { Chart(painter, evaluation).paint(size); },
        words("Flipping curves of %1").arg(QString::fromStdString(evaluation.model)), texts, 2);
}

} // namespace retro::app
