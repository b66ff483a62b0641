// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/chart.h"
#include "views/common/paint/theme.h"

#include <QImage>
#include <QRect>
#include <QString>
#include <QStringList>
#include <QWidget>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace retro::views
{

/// A bar of a drawing.
struct EvidenceBar
{
    QString name;
    double amount = 0;     ///< what is measured there, not negative
    bool isPlace = false;  ///< it is what the finding is about
    std::uint8_t part = 0; ///< of EvidenceKind::Parts: 0 what goes on, else a cause
};

enum class EvidenceKind : std::uint8_t {
    None,    ///< the number alone
    Growth,  ///< Σ|R| along the way from the target, on a logarithmic scale
    Parts,   ///< what became of the relevance that arrived at a node
    Picture, ///< the heatmap of an input, with the box that the finding is about
    Chart    ///< what the check itself has drawn up
};

/// What shows that a finding is true: numbers of the run on screen, to be drawn.
struct FindingEvidence
{
    EvidenceKind kind = EvidenceKind::None;
    QString title{}; ///< what is drawn, in a line
    std::vector<EvidenceBar> bars{};
    double limit = 0; ///< of Growth: what started; 0 = nobody knows
    QImage picture{};
    std::optional<QRect> box{}; ///< in pixels of the picture
    diagnosis::Chart chart{};
};

/// What a change would do: a real run of it, whose result is not taken.
struct FindingPreview
{
    std::string key{}; ///< keyOf() of the finding
    bool isRunning = false;
    QString failure{};  ///< why there is none; empty: it ran
    QString changes{};  ///< what was asked in place of what is asked now
    QImage now{};       ///< heatmap of the input; null where it is no picture
    QImage after{};     ///< the same under the change
    QString nowScale{}; ///< "±0.11": each picture has its own scale
    QString afterScale{};
    QStringList figures{}; ///< numbers before and after, a line each

    [[nodiscard]] bool isEmpty() const { return key.empty(); }
};

/// Draws the evidence of a finding. GUI thread.
class EvidenceDrawing final : public QWidget
{
    Q_OBJECT

public:
    explicit EvidenceDrawing(FindingEvidence evidence, QWidget* parent = nullptr);
    [[nodiscard]] const FindingEvidence& evidence() const { return m_evidence; }

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] QRectF chartPlace() const;
    [[nodiscard]] QRectF barAt(std::size_t index) const;
    void paintGrowth(QPainter& painter, const Theme& colors) const;
    void paintParts(QPainter& painter, const Theme& colors) const;
    void paintPicture(QPainter& painter, const Theme& colors) const;
    [[nodiscard]] QString spoken() const;

    FindingEvidence m_evidence;
    double m_low = 0;  ///< log10 at the bottom of Growth
    double m_high = 1; ///< log10 at its top
};

/// Shows a preview: both heatmaps beside each other, and the figures. GUI thread.
class PreviewDrawing final : public QWidget
{
    Q_OBJECT

public:
    explicit PreviewDrawing(FindingPreview preview, QWidget* parent = nullptr);
    [[nodiscard]] const FindingPreview& preview() const { return m_preview; }

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] QStringList lines() const;

    FindingPreview m_preview;
};

} // namespace retro::views
