// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/regionfacts.h"

#include <QWidget>

#include <map>
#include <set>

namespace retro::views
{

class Theme;

/// The channels of a value that put most into the region, each with where in the layer that is, its figures, and the
/// conditional map of the input once it is known. A click chooses one, Ctrl+click several.
class ChannelStrip final : public QWidget
{
    Q_OBJECT

public:
    explicit ChannelStrip(QWidget* parent = nullptr);

    /// `total` is what the region has altogether; `word` names a channel: "channel".
    void setChannels(std::vector<RegionChannel> channels, double total, const QString& word);
    /// The map of the input that only this channel's relevance makes.
    void setMap(std::int64_t index, Plane map);
    void clearMaps();
    [[nodiscard]] const std::vector<RegionChannel>& channels() const { return m_channels; }
    [[nodiscard]] bool hasMap(std::int64_t index) const { return m_maps.contains(index); }
    /// Channels that are chosen, ascending.
    [[nodiscard]] std::vector<std::int64_t> chosen() const { return {m_chosen.begin(), m_chosen.end()}; }
    void choose(std::int64_t index, bool isAdded);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    void paint(QPainter& painter, const QRectF& area, const Theme& colors) const;

signals:
    void chosenChanged();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    [[nodiscard]] std::vector<QRectF> cells(const QRectF& area) const;
    void paintCell(QPainter& painter, const QRectF& cell, const RegionChannel& channel, const Theme& colors) const;

    std::vector<RegionChannel> m_channels;
    std::map<std::int64_t, Plane> m_maps;
    std::set<std::int64_t> m_chosen;
    double m_total = 0;
    QString m_word;
};

} // namespace retro::views
