"""The same query with other watermark delays, and two runs beside each other.

Every delay meets the same micro-batches: those of the run, chunk by chunk. So what
differs between two delays is due to the delay alone, and asking again gives the same
answer.
"""
