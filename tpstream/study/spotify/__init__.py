"""How do real listening sessions become an experiment? The Music Streaming Sessions Dataset, prepared as the paper did.

The data set (Brost, Mehrotra and Jehan, WWW 2019) is Spotify's and not shipped here. Its session logs are CSV files
with a row for each song played: session_id, session_position (from 1), session_length (10 to 20), track_id_clean,
skip_1 (the song was only played very briefly), skip_2 (only briefly), skip_3 (most of it was played), not_skipped (all
of it was), context_switch (another context than in the row before), context_type ("editorial_playlist" among others),
and columns that are not needed. A song that is left very early has all three skips, one that is left late the last.
"""
